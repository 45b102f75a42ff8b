/** Whether a value is to be waited for. What needs no waiting is not awaited: every request would pay for the promise. */
export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/** Whether a value has to be awaited. Other values are not awaited, because every request would pay for the promise. */
export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

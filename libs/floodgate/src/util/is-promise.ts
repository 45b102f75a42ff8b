/**
 * Whether a value has to be awaited. Other values are not awaited, because every request would pay for the promise. A value that
 * cannot be read, such as a revoked proxy, counts as one: `adopted` rejects with the reason.
 */
export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  try {
    return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
  } catch {
    return true;
  }
}

/**
 * Converts what the application returned to a native promise. A `then` of the application may throw, return nothing, call back
 * twice, or with another promise.
 */
export function adopted<T>(answer: PromiseLike<T>): Promise<T> {
  return isNative(answer) ? answer : new Promise((resolve) => resolve(answer));
}

function isNative<T>(answer: PromiseLike<T>): answer is Promise<T> {
  try {
    return answer instanceof Promise && answer.then === Promise.prototype.then;
  } catch {
    return false;
  }
}

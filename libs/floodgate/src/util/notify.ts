import { adopted, isPromise } from './is-promise.js';

/**
 * Calls a function of the application whose answer is not waited for. `failed` gets its error, whether it throws or rejects, and
 * must not throw.
 */
export function notify<T>(listener: (event: T) => unknown, event: T, failed: (error: unknown) => void): void {
  try {
    const returned = listener(event);
    if (isPromise(returned)) adopted(returned).then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

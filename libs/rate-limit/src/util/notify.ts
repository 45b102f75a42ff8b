import { isPromise } from './is-promise.js';

/** Calls a function of the application. `failed` gets its error, whether it throws or rejects. */
export function notify<T>(listener: (event: T) => unknown, event: T, failed: (error: unknown) => void): void {
  try {
    const returned = listener(event);
    if (isPromise(returned)) returned.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

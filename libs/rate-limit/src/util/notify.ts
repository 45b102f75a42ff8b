import { isPromise } from './is-promise.js';

/** Calls a function of the application. What it throws or rejects with goes to `failed` and no further. */
export function notify<T>(listener: (event: T) => unknown, event: T, failed: (error: unknown) => void): void {
  try {
    const returned = listener(event);
    if (isPromise(returned)) returned.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

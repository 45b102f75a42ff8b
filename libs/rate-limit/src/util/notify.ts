import { isPromise } from './is-promise.js';

/** Calls a function that the application gave: neither what it throws nor what it rejects with goes any further. */
export function tell<T>(listener: (event: T) => unknown, event: T, failed: (error: unknown) => void): void {
  try {
    const returned = listener(event);
    if (isPromise(returned)) returned.then(undefined, failed);
  } catch (error) {
    failed(error);
  }
}

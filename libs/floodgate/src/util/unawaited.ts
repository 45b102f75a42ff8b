import { isPromise } from './is-promise.js';

/**
 * Lets work go on that nothing waits for. What can fail in it is told where it fails: a failure that gets here would end the process as
 * an unhandled rejection.
 */
export function unawaited(work: unknown): void {
  if (isPromise(work)) work.then(undefined, () => undefined);
}

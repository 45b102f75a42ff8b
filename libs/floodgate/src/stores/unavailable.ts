import { RateLimitStoreError } from './store.js';

/** The store is unavailable. */
export class StoreUnavailableError extends RateLimitStoreError {
  /**
   * @param wasAsked whether something was sent for the request; false: the store was known to be unavailable
   * @param isLogged whether the log has said so when the outage began: a request needs no line of its own
   */
  constructor(
    message: string,
    readonly wasAsked: boolean,
    readonly isLogged = true,
  ) {
    super(message);
  }
}

/** Whether the store was asked for a request that failed with this error. If not, the request is no failure of the store. */
export function wasStoreAsked(error: unknown): boolean {
  return !(error instanceof StoreUnavailableError) || error.wasAsked;
}

import { RateLimitStoreError } from '../../store.js';
import { StoreUnavailableError } from '../../unavailable.js';
import { isErrorReply } from '../clients/client-failure.js';

/** Redis is unavailable. */
export class RedisUnavailableError extends StoreUnavailableError {}

/** The failure of a request whose batch failed. */
export function decisionFailure(error: Error): RateLimitStoreError {
  if (error instanceof RateLimitStoreError) return error;
  return new RateLimitStoreError(`Redis did not decide: ${error.message}`, { cause: error });
}

/**
 * Replies with which Redis reports its own trouble, not that of a key or a request. The last alternative is the reply when
 * the user lacks a right inside of the script.
 */
const TROUBLE =
  /^(LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|TRYAGAIN)\b|^ERR The user executing the script can't run/;

/** Whether an error means that Redis cannot decide for any request: no connection, or trouble of its own. */
export function isTrouble(error: Error): boolean {
  return !isErrorReply(error) || TROUBLE.test(error.message);
}

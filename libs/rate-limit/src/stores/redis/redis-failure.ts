import { RateLimitStoreError } from '../store.js';

/** Redis is unavailable. The log has said so when the outage began: a request needs no line of its own. */
export class RedisUnavailableError extends RateLimitStoreError {
  /** @param wasAsked whether something was sent for the request; false: Redis was known to be unavailable */
  constructor(
    message: string,
    readonly wasAsked: boolean,
  ) {
    super(message);
  }
}

/** Whether the store was asked for a request that failed with this error. If not, the request is no failure of the store. */
export function wasStoreAsked(error: unknown): boolean {
  return !(error instanceof RedisUnavailableError) || error.wasAsked;
}

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
  return error.name !== 'ReplyError' || TROUBLE.test(error.message);
}

/** Whether an error means that there is no connection. These are the texts of ioredis. */
export function isDisconnection(error: Error): boolean {
  return /^(Stream isn't writeable|Connection is closed)/.test(error.message);
}

import { RateLimitStoreError } from '../store.js';

/** Redis cannot be asked now, which was logged when it began: a request needs no line of its own. */
export class RedisUnavailableError extends RateLimitStoreError {}

/**
 * Replies that say that Redis, not a key or a question, is in trouble. The last is what a right missing inside of the script
 * reads like.
 */
const TROUBLE =
  /^(LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|TRYAGAIN)\b|^ERR The user executing the script can't run/;

/** Whether an error of a call says that Redis cannot decide for anybody: that there is no connection, or one of its own troubles. */
export function isTrouble(error: Error): boolean {
  return error.name !== 'ReplyError' || TROUBLE.test(error.message);
}

/** Whether it says that there is no connection: that is how ioredis puts it. */
export function isDisconnection(error: Error): boolean {
  return /^(Stream isn't writeable|Connection is closed)/.test(error.message);
}

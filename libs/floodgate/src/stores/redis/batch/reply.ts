import { isWhole } from '../../../algorithms/core/algorithm.js';
import { shown } from '../../../util/config-error.js';

/** Elements of a reply that a message shows at most. */
const MAX_SHOWN = 8;
/** A status of Redis. Any other text may be data for another command, and must not reach a log. */
const STATUS = /^[A-Z]{1,16}$/;

/**
 * The number that the program of a Cluster node sends for a request that it did not decide, because another node has one of its
 * keys.
 */
export const ELSEWHERE = -3;

/** The numbers that the program sends in the place of a level that it cannot read. */
const FAILURES: ReadonlyMap<unknown, string> = new Map([
  [-1, 'a key holds a foreign type: another program writes under the key prefix'],
  [-2, 'a key holds an unreadable state: another program writes under the key prefix'],
]);

/** Why a level could not be read; undefined when the number is none of the program's failures. */
export function failureOf(number: unknown): string | undefined {
  return FAILURES.get(number);
}

/** The reply is not the program's, so it is unknown whether the requests were charged. */
export class UnusableReplyError extends Error {
  constructor(reply: unknown) {
    super(`the reply is not a decision: ${shownReply(reply)}`);
  }
}

/**
 * Whether the first number of a reply is the instant of the decision.
 *
 * @param sent the instant that was sent to the program; undefined: Redis's own clock, whose microseconds since 1970 have 16
 *   digits from 2001 to 2286
 */
export function isInstant(now: unknown, sent: number | undefined): boolean {
  return sent === undefined ? isWhole(now, 1e15, 1e16 - 1) : now === Math.trunc(sent);
}

function shownReply(reply: unknown): string {
  if (!Array.isArray(reply)) return shownElement(reply);
  const more = reply.length > MAX_SHOWN ? `, ... ${reply.length - MAX_SHOWN} more` : '';
  return `[${reply.slice(0, MAX_SHOWN).map(shownElement).join(', ')}${more}]`;
}

function shownElement(value: unknown): string {
  return typeof value === 'string' && !STATUS.test(value) ? `a text of ${value.length} characters` : shown(value);
}

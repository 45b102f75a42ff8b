import { isWhole } from '../../algorithms/algorithm.js';
import { shown } from '../../util/config-error.js';

/** Elements of a reply that a message shows. */
const MAX_SHOWN = 8;
/** What Redis says by itself. Any other text may be data that was meant for another command, and is not repeated. */
const STATUS = /^[A-Z]{1,16}$/;

/** Redis, or what stands in its place, answered something else than the program's reply: nobody knows what was charged. */
export class UnusableReplyError extends Error {
  constructor(reply: unknown) {
    super(`its reply is no decision: ${shownReply(reply)}`);
  }
}

/**
 * Whether the first number of a reply is the instant of the decision.
 *
 * @param sent what the program was told to decide by; undefined: Redis's own clock, whose microseconds since 1970 have 16
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

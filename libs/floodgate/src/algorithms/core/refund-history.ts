/** What settlements add to the state of a bucket, after its instant. Plain charges keep it. */
export interface RefundHistory {
  /** The ticks that were refunded, in total. `MOST` stands for that or more. */
  refunded: number;
  /** The instant from which on no receipt needs `refunded`: whole microseconds; 0 when nothing was refunded. */
  keep: number;
  /** The ticks by which the debt was deeper than a full bucket when the state was written. */
  overdrawn: number;
}

/**
 * The largest total that is counted. A client that reads the digits of a reply as `n * 10 + code - 48`, as ioredis 6 does, passes
 * 2^53 above 2^53 - 48, and may then return another number.
 */
const MOST = 2 ** 53 - 64;

/** The total of refunded ticks; 0 once no receipt needs it any more. */
export function refundedBy(tail: RefundHistory | undefined, now: number): number {
  return tail === undefined || now >= tail.keep ? 0 : tail.refunded;
}

/** The ticks that were refunded between two totals; undefined when the state has begun anew in between. */
export function refundedSince(before: number, total: number): number | undefined {
  if (total === MOST) return Infinity;
  return total < before ? undefined : total - before;
}

/** The tail of a state that is written with this overdraft. */
export function carriedTail(tail: RefundHistory | undefined, now: number, overdrawn: number): RefundHistory {
  if (tail === undefined) return { refunded: 0, keep: 0, overdrawn };
  tail.refunded = refundedBy(tail, now);
  if (tail.refunded === 0) tail.keep = 0;
  tail.overdrawn = overdrawn;
  return tail;
}

/** A total with these ticks. */
export function totalWith(total: number, ticks: number): number {
  return Math.min(MOST, total + ticks);
}

/** Adds refunded ticks to a tail, whose total then counts until `keep` at least. */
export function countRefund(tail: RefundHistory, ticks: number, keep: number): void {
  tail.refunded = totalWith(tail.refunded, ticks);
  tail.keep = Math.max(tail.keep, keep);
}

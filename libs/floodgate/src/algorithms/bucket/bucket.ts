import { MAX_COUNT } from '../core/options.js';
import { type ExactRate, isCountable } from '../core/rate.js';
import type { Algorithm, AlgorithmName } from '../core/algorithm.js';
import { type Footprint, STATE_BYTES } from '../core/footprint.js';
import { BucketOverdraft } from '../core/overdraft.js';
import type { Shares } from '../core/shares.js';
import { type RefundHistory, carriedTail } from '../core/refund-history.js';
import type { Refunds } from '../core/refunds.js';
import { BucketWire } from './wire.js';

/** The instant at which the debt is paid off: `at` in whole microseconds, plus `ticks`, which are less than one microsecond. */
export interface Instant {
  at: number;
  ticks: number;
  /** The refund history. Only a state that was settled has one. */
  tail?: RefundHistory;
}

/** The deepest debt with an overdraft, in ticks: together with the largest skew it stays below 2^53. */
const DEEPEST = 8e15;
/** How far ahead an instant may lie, in microseconds: 174 years. So it keeps 16 digits, and stays below 2^53. */
const FURTHEST = 5.5e15;

export const BUCKET_FOOTPRINT: Footprint<Instant> = {
  bytesPerCost: 0,
  sizeOf: (state) => (state?.tail === undefined ? STATE_BYTES : 160),
  // A state counts what was refunded until no receipt needs it any more.
  outlives: ({ tail }, now) => tail !== undefined && now < tail.keep,
};

/**
 * The rate of a bucket whose `rate` ends with it; undefined for a text of no bucket. `algorithmOfRate` compares the whole text.
 *
 * @param places the tokens or departures that the bucket counts
 */
export function bucketRateOf(rate: string, places: number): ExactRate | undefined {
  const [, p, q] = /@(\d{1,16})\/(\d{1,16})$/.exec(rate) ?? [];
  const [tokens, microseconds] = [Number(p), Number(q)];
  return isCountable(tokens, microseconds, places) ? { tokens, microseconds, rounded: false } : undefined;
}

/**
 * The common part of the token bucket and the leaky bucket: a debt that is paid off at a constant rate and never exceeds
 * `full`.
 *
 * At p tokens every q microseconds (reduced), time counts in ticks of 1/p microsecond. A token is exactly q ticks, so debts add
 * up without rounding at every rate. Source: the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371), in
 * whole numbers.
 */
export abstract class Bucket implements Algorithm<number, Instant> {
  abstract readonly name: AlgorithmName;
  abstract readonly code: string;
  abstract readonly delays: boolean;
  readonly refills = true;
  readonly window: number;
  readonly rate: string;
  readonly wire: BucketWire;
  abstract readonly shares: Shares;
  abstract readonly refunds: Refunds<number, Instant>;
  readonly overdraft: BucketOverdraft;
  readonly footprint = BUCKET_FOOTPRINT;
  /** The largest debt, in ticks. */
  readonly full: number;
  /** p: ticks in a microsecond. */
  readonly ticksPerMicrosecond: number;
  /** q: ticks of a token or a departure. */
  readonly ticksPerToken: number;

  constructor(
    readonly limit: number,
    readonly maxCost: number,
    program: string,
    readonly exactRate: ExactRate,
  ) {
    this.ticksPerMicrosecond = exactRate.tokens;
    this.ticksPerToken = exactRate.microseconds;
    this.full = maxCost * exactRate.microseconds;
    const deepest = Math.min(DEEPEST, FURTHEST * exactRate.tokens);
    const beyond = Math.floor((deepest - this.full) / exactRate.microseconds);
    const max = Math.max(0, Math.min(MAX_COUNT, beyond));
    this.overdraft = new BucketOverdraft(this, max);
    this.window = (limit * exactRate.microseconds) / exactRate.tokens;
    // The capacity is part of it: it bounds how far ahead an instant may lie, which reveals a clock that stepped back.
    this.rate = `${limit}@${exactRate.tokens}/${exactRate.microseconds}`;
    const numbers = [exactRate.tokens, exactRate.microseconds, this.full];
    this.wire = new BucketWire(program, numbers, this.full + max * exactRate.microseconds, exactRate.tokens);
  }

  describe(): string {
    return `capacity ${this.limit}`;
  }

  isAhead(state: Instant, now: number, maxSkew: number): boolean {
    const beyond = this.debt(state, now) - this.full - maxSkew * this.ticksPerMicrosecond;
    return beyond > 0 && beyond > (state.tail?.overdrawn ?? 0);
  }

  read(state: Instant | undefined, now: number, maxSkew: number): number {
    if (state === undefined) return 0;
    if (this.isAhead(state, now, maxSkew)) return this.full + (state.tail?.overdrawn ?? 0);
    return Math.max(0, this.debt(state, now));
  }

  fits(debt: number, cost: number, headroom = 0): boolean {
    return (cost + headroom) * this.ticksPerToken <= this.full - debt;
  }

  charge(debt: number, cost: number): number {
    return debt + cost * this.ticksPerToken;
  }

  write(debt: number, now: number, state: Instant = { at: 0, ticks: 0 }): Instant {
    state.ticks = debt % this.ticksPerMicrosecond;
    state.at = now + (debt - state.ticks) / this.ticksPerMicrosecond;
    if (debt > this.full || state.tail !== undefined) {
      state.tail = carriedTail(state.tail, now, Math.max(0, debt - this.full));
    }
    return state;
  }

  expiresAt(debt: number, now: number): number {
    return now + this.resetAfter(debt);
  }

  remaining(debt: number): number {
    return Math.min(this.limit, Math.max(0, Math.floor((this.full - debt) / this.ticksPerToken)));
  }

  resetAfter(debt: number): number {
    return Math.ceil(debt / this.ticksPerMicrosecond);
  }

  retryAfter(debt: number, cost: number): number {
    // The order matters: the debt and the cost together could pass 2^53.
    return Math.ceil((debt - (this.full - cost * this.ticksPerToken)) / this.ticksPerMicrosecond);
  }

  /** Microseconds in which the bucket pays off a debt without overdraft. After that time a receipt refunds nothing. */
  get longestDebt(): number {
    return Math.ceil(this.full / this.ticksPerMicrosecond);
  }

  /** A bucket of its kind with another capacity and rate. */
  abstract withRate(capacity: number, rate: ExactRate): Bucket;
  abstract delay(debt: number): number;

  /** The debt of a state that has not been rebased. */
  debt(state: Instant, now: number): number {
    return (state.at - now) * this.ticksPerMicrosecond + state.ticks;
  }
}

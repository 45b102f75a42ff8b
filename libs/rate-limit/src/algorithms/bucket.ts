import { type BucketTail, carriedTail, countRefund } from './bucket-tail.js';
import { MAX_COUNT } from './options.js';
import type { ExactRate } from './rate.js';
import { type Algorithm, type AlgorithmName, type ChargeMark, isWhole } from './algorithm.js';
import type { SharedTime } from './shared-time.js';

/** The instant at which the debt is paid off: `at` in whole microseconds, plus `ticks`, which are less than one microsecond. */
export interface Instant {
  at: number;
  ticks: number;
  /** Only in a state that was settled. */
  tail?: BucketTail;
}

/** The deepest debt with an overdraft, in ticks: together with the largest skew it stays below 2^53. */
const DEEPEST = 8e15;
/** How far ahead an instant may lie, in microseconds: 174 years. So it keeps 16 digits, and stays below 2^53. */
const FURTHEST = 5.5e15;

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
  abstract readonly shardable: boolean;
  readonly window: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength = 1;
  readonly bytesPerCost = 0;
  /** A refund counts ticks: the refill may have paid off a part of a token. */
  readonly refundUnit: number;
  readonly maxOverdraft: number;
  /** The largest debt, in ticks. */
  protected readonly full: number;
  /** p: ticks in a microsecond. */
  readonly ticksPerMicrosecond: number;
  /** q: ticks of a token or a departure. */
  protected readonly ticksPerToken: number;

  constructor(
    readonly limit: number,
    readonly maxCost: number,
    protected readonly exactRate: ExactRate,
  ) {
    this.ticksPerMicrosecond = exactRate.tokens;
    this.ticksPerToken = exactRate.microseconds;
    this.full = maxCost * exactRate.microseconds;
    this.refundUnit = exactRate.microseconds;
    const deepest = Math.min(DEEPEST, FURTHEST * exactRate.tokens);
    const beyond = Math.floor((deepest - this.full) / exactRate.microseconds);
    this.maxOverdraft = Math.max(0, Math.min(MAX_COUNT, beyond));
    this.window = (limit * exactRate.microseconds) / exactRate.tokens;
    // The capacity is part of it: it bounds how far ahead an instant may lie, which reveals a clock that stepped back.
    this.rate = `${limit}@${exactRate.tokens}/${exactRate.microseconds}`;
    this.wire = [exactRate.tokens, exactRate.microseconds, this.full];
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

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    const deepest = this.full + this.maxOverdraft * this.ticksPerToken;
    return isWhole(reply[offset], 0, deepest + maxSkew * this.ticksPerMicrosecond);
  }

  decode(reply: readonly number[], offset: number): number {
    return reply[offset]!;
  }

  fits(debt: number, cost: number): boolean {
    return cost * this.ticksPerToken <= this.full - debt;
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

  sizeOf(state: Instant | undefined): number {
    return state?.tail === undefined ? 64 : 160;
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
    // In this order: the debt and the cost together could pass 2^53.
    return Math.ceil((debt - (this.full - cost * this.ticksPerToken)) / this.ticksPerMicrosecond);
  }

  refund(state: Instant, now: number, cost: number, charge: ChargeMark): number {
    const debt = Math.max(0, this.debt(state, now));
    const refunded = Math.min(debt, this.returnable(state, debt, now, cost, charge));
    if (refunded <= 0) return 0;
    this.write(debt - refunded, now, state);
    if (this.countsRefunds) {
      state.tail ??= carriedTail(undefined, now, 0);
      countRefund(state.tail, refunded, now + this.longestDebt);
    }
    return refunded;
  }

  roomWithin(debt: number, overdraft: number): number {
    return Math.floor((this.full - debt + overdraft * this.ticksPerToken) / this.ticksPerToken);
  }

  /** Whether later refunds depend on the total of those before. */
  protected abstract readonly countsRefunds: boolean;

  /** The ticks that a refund may take off the debt; 0 or less: none. */
  protected abstract returnable(state: Instant, debt: number, now: number, cost: number, charge: ChargeMark): number;

  /** Microseconds in which the bucket pays off a debt without overdraft. No receipt is worth anything after them. */
  protected get longestDebt(): number {
    return Math.ceil(this.full / this.ticksPerMicrosecond);
  }

  /** A state counts what was refunded until no receipt needs it any more. */
  outlives({ tail }: Instant, now: number): boolean {
    return tail !== undefined && now < tail.keep;
  }

  abstract share(processes: number, atLeast: number): Bucket;
  abstract localShare(time: SharedTime, atLeast: number): Algorithm;
  abstract delay(debt: number): number;

  private debt(state: Instant, now: number): number {
    return (state.at - now) * this.ticksPerMicrosecond + state.ticks;
  }
}

import type { ExactRate } from './rate.js';
import { type Algorithm, type AlgorithmName, isWhole } from './algorithm.js';
import type { SharedTime } from './shared-time.js';

/** The instant at which the debt is paid off: `at` in whole microseconds, plus `ticks`, which are less than one microsecond. */
export interface Instant {
  at: number;
  ticks: number;
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
  abstract readonly shardable: boolean;
  readonly window: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength = 1;
  readonly bytesPerCost = 0;
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
    this.window = (limit * exactRate.microseconds) / exactRate.tokens;
    // The capacity is part of it: it bounds how far ahead an instant may lie, which reveals a clock that stepped back.
    this.rate = `${limit}@${exactRate.tokens}/${exactRate.microseconds}`;
    this.wire = [exactRate.tokens, exactRate.microseconds, this.full];
  }

  describe(): string {
    return `capacity ${this.limit}`;
  }

  isAhead(state: Instant, now: number, maxSkew: number): boolean {
    return this.debt(state, now) > this.full + maxSkew * this.ticksPerMicrosecond;
  }

  read(state: Instant | undefined, now: number, maxSkew: number): number {
    if (state === undefined) return 0;
    return this.isAhead(state, now, maxSkew) ? this.full : Math.max(0, this.debt(state, now));
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return isWhole(reply[offset], 0, this.full + maxSkew * this.ticksPerMicrosecond);
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
    return state;
  }

  sizeOf(): number {
    return 64;
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

  refund(state: Instant, now: number, cost: number, at: number, resetAt: number): void {
    const debt = this.debt(state, now);
    const back = this.returnable(debt, now, cost, at, resetAt);
    if (back > 0) this.write(debt - back, now, state);
  }

  /** The ticks that a refund may take off the debt; 0 or less: none. */
  protected abstract returnable(debt: number, now: number, cost: number, at: number, resetAt: number): number;

  abstract share(processes: number, atLeast: number): Bucket;
  abstract localShare(time: SharedTime, atLeast: number): Algorithm;
  abstract delay(debt: number): number;

  private debt(state: Instant, now: number): number {
    return (state.at - now) * this.ticksPerMicrosecond + state.ticks;
  }
}

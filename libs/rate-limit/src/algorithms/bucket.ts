import type { ExactRate } from './rate.js';
import { type Algorithm, type AlgorithmName, isWhole } from './algorithm.js';
import type { SharedTime } from './shared-time.js';

/** The instant at which nothing is owed any more: whole microseconds and `ticks` (fewer than one microsecond has) more. */
export interface Instant {
  at: number;
  ticks: number;
}

/**
 * What the token bucket and the leaky bucket share: a debt that is paid off at a constant rate and must never exceed `full`.
 *
 * At p tokens every q microseconds (reduced), time counts in ticks of 1/p microsecond, so that a token is worth exactly q of
 * them and nothing is ever rounded: debts add up exactly, whatever the rate. This is the virtual scheduling form of the
 * generic cell rate algorithm (ITU-T I.371), in whole numbers.
 */
export abstract class Bucket implements Algorithm<number, Instant> {
  abstract readonly name: AlgorithmName;
  abstract readonly delays: boolean;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength = 1;
  readonly bytesPerCost = 0;
  /** The deepest debt, in ticks. */
  protected readonly full: number;
  /** p: ticks in a microsecond. */
  readonly ticksPerMicrosecond: number;
  /** q: ticks that a token or a departure is worth. */
  protected readonly ticksPerToken: number;

  constructor(
    readonly limit: number,
    readonly maxCost: number,
    protected readonly exactRate: ExactRate,
  ) {
    this.ticksPerMicrosecond = exactRate.tokens;
    this.ticksPerToken = exactRate.microseconds;
    this.full = maxCost * exactRate.microseconds;
    // With the capacity: how far ahead an instant may lie, and so what tells a clock that stepped back, depends on it.
    this.rate = `${limit}@${exactRate.tokens}/${exactRate.microseconds}`;
    this.wire = [exactRate.tokens, exactRate.microseconds, this.full];
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

  /** How much of a debt, which is positive, a charge may take back; 0 or less: nothing. */
  protected abstract returnable(debt: number, now: number, cost: number, at: number, resetAt: number): number;

  abstract share(processes: number, atLeast: number): Bucket;
  abstract localShare(time: SharedTime, atLeast: number): Algorithm;
  abstract delay(debt: number): number;

  private debt(state: Instant, now: number): number {
    return (state.at - now) * this.ticksPerMicrosecond + state.ticks;
  }
}

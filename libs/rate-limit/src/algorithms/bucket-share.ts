import type { Algorithm, AlgorithmName } from './algorithm.js';
import type { Bucket, Instant } from './bucket.js';
import type { SharedTime } from './shared-time.js';

interface ShareState extends Instant {
  /** The next free departure slot by the clock, as `at` and `ticks` by the shared time. 0 unless requests wait for slots. */
  slot: number;
  slotTicks: number;
}

interface ShareLevel {
  /** Ticks of the bucket. */
  readonly debt: number;
  /** Microseconds of the clock since the shared time's last whole microsecond. */
  readonly passed: number;
  /** Until the next free departure slot by the clock: microseconds, and ticks of the bucket. */
  readonly wait: number;
  readonly waitTicks: number;
}

/** 142 years. A share of a slow rate can take longer than can be counted. */
const FOREVER = 2 ** 52;

/**
 * One process's share of a bucket, where the number of processes may change while a state lives: a bucket with the share's
 * capacity and the whole rate, which is paid by `SharedTime`. A token is worth the same ticks in every share, so what was
 * taken means the same after a change, and nothing is converted or rounded.
 *
 * In any interval a process admits at most the capacity of the share in force at its end (of a queue: and the request that
 * departs), and what the shares of the rate gave meanwhile. The shared time is rounded to microseconds against the client: a
 * request may be rejected that would pass one microsecond of the shared time earlier.
 *
 * A queue keeps its next slot by the clock as well: slots that were handed out stay where they are, and the next one lies
 * behind them by what the share's rate was when they were handed out.
 */
export class BucketShare implements Algorithm<ShareLevel, ShareState> {
  readonly name: AlgorithmName;
  readonly delays: boolean;
  readonly limit: number;
  readonly maxCost: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength: number;
  readonly bytesPerCost = 0;
  private readonly processes: number;

  /**
   * @param bucket the share's capacity with the whole rate
   * @param rate what the whole bucket's state means, which is the same for all shares
   * @param departs whether a request waits for a departure slot
   */
  constructor(
    private readonly bucket: Bucket,
    rate: string,
    private readonly departs: boolean,
    private readonly time: SharedTime,
  ) {
    this.name = bucket.name;
    this.delays = bucket.delays;
    this.limit = bucket.limit;
    this.maxCost = bucket.maxCost;
    this.rate = rate;
    this.wire = bucket.wire;
    this.replyLength = bucket.replyLength;
    this.processes = time.processes;
  }

  share(processes: number, atLeast: number): Algorithm {
    return this.bucket.share(processes, atLeast);
  }

  localShare(): this {
    return this;
  }

  /** Never: a larger share may have put the state further ahead than this one can. */
  isAhead(): boolean {
    return false;
  }

  read(state: ShareState | undefined, now: number): ShareLevel {
    const passed = this.time.passed(now);
    if (state === undefined) return { debt: 0, passed, wait: 0, waitTicks: 0 };
    const debt = this.debt(state, now);
    const wait = state.slot - now;
    return wait < 0 ? { debt, passed, wait: 0, waitTicks: 0 } : { debt, passed, wait, waitTicks: state.slotTicks };
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return this.bucket.isLevel(reply, offset, maxSkew);
  }

  /** As Redis would describe it, which keeps no shares of one process. */
  decode(reply: readonly number[], offset: number): ShareLevel {
    return { debt: this.bucket.decode(reply, offset), passed: 0, wait: 0, waitTicks: 0 };
  }

  fits({ debt }: ShareLevel, cost: number): boolean {
    return this.bucket.fits(debt, cost);
  }

  charge({ debt, passed, wait, waitTicks }: ShareLevel, cost: number): ShareLevel {
    const { ticksPerMicrosecond } = this.bucket;
    const charged = this.bucket.charge(debt, cost);
    const slots = charged - debt;
    // The shared time is rounded down. A debt that begins within a microsecond of it begins with the next one, or it would be
    // paid too early.
    const after = debt === 0 && passed > 0 && cost > 0 ? charged + ticksPerMicrosecond : charged;
    if (!this.departs) return { debt: after, passed, wait, waitTicks };
    const ticks = (slots % ticksPerMicrosecond) * this.processes + waitTicks;
    const whole = this.byClock(Math.floor(slots / ticksPerMicrosecond)) + Math.floor(ticks / ticksPerMicrosecond);
    return { debt: after, passed, wait: wait + whole, waitTicks: ticks % ticksPerMicrosecond };
  }

  write(level: ShareLevel, now: number, state: ShareState = { at: 0, ticks: 0, slot: 0, slotTicks: 0 }): ShareState {
    this.bucket.write(level.debt, this.time.at(now), state);
    state.slot = this.departs ? now + level.wait : 0;
    state.slotTicks = level.waitTicks;
    return state;
  }

  /** Nothing: what a process took during an outage stays taken. */
  refund(): void {}

  sizeOf(): number {
    return 128;
  }

  expiresAt(level: ShareLevel, now: number): number {
    return now + this.resetAfter(level);
  }

  /** More processes than there were when it was written pay the debt later. */
  outlives(state: ShareState, now: number): boolean {
    return this.debt(state, now) > 0 || state.slot > now;
  }

  remaining({ debt }: ShareLevel): number {
    return this.bucket.remaining(debt);
  }

  resetAfter(level: ShareLevel): number {
    const { debt, passed } = level;
    const paid = debt === 0 ? 0 : this.byClock(this.bucket.resetAfter(debt)) - passed;
    return Math.max(paid, this.delay(level));
  }

  retryAfter({ debt, passed }: ShareLevel, cost: number): number {
    return this.byClock(this.bucket.retryAfter(debt, cost)) - passed;
  }

  /** Until the request's departure slot, rounded up. */
  delay({ wait, waitTicks }: ShareLevel): number {
    return waitTicks > 0 ? wait + 1 : wait;
  }

  private debt(state: ShareState, now: number): number {
    return this.bucket.read(state, this.time.at(now), Infinity);
  }

  /** Microseconds of the shared time, from a whole one on, by the clock. */
  private byClock(microseconds: number): number {
    return Math.min(microseconds * this.processes, FOREVER);
  }
}

import type { Algorithm, AlgorithmName } from './algorithm.js';
import type { Bucket, Instant } from './bucket.js';
import type { Footprint } from './capabilities/footprint.js';
import { DebtOverdraft } from './capabilities/overdraft.js';
import { shareOfLimit, type Shares } from './capabilities/shares.js';
import { shareOfRate } from './rate.js';
import type { DividedClock } from './divided-clock.js';
import type { WireFormat } from './wire/wire-format.js';

/** The shares of a bucket: of the capacity and of the rate, or of the capacity on a time of their own. */
export class BucketShares implements Shares {
  constructor(
    private readonly whole: Bucket,
    readonly shardable: boolean,
  ) {}

  of(processes: number, atLeast: number): Bucket {
    const { whole } = this;
    if (processes === 1) return whole;
    const capacity = shareOfLimit(whole.limit, processes, atLeast);
    // A leaky bucket has a place more than its capacity: the departing request takes none.
    const places = capacity + whole.maxCost - whole.limit;
    return whole.withRate(capacity, shareOfRate(whole.exactRate, processes, places));
  }

  local(time: DividedClock, atLeast: number): BucketShare {
    const capacity = shareOfLimit(this.whole.limit, time.processes, atLeast);
    return new BucketShare(this.whole.withRate(capacity, this.whole.exactRate), this.whole.rate, time);
  }
}

interface ShareState extends Instant {
  /** The next free departure slot by the clock (`at` and `ticks` are by the shared time); 0 unless the bucket delays. */
  slot: number;
  slotTicks: number;
}

interface ShareLevel {
  /** Ticks of the bucket. */
  readonly debt: number;
  /** Microseconds of the clock since the shared time's last whole microsecond. */
  readonly passed: number;
  /** Time until the next free departure slot by the clock: microseconds, and ticks of the bucket. */
  readonly wait: number;
  readonly waitTicks: number;
}

/** 142 years: the longest wait. A share of a slow rate can take longer than a safe number can count. */
const FOREVER = 2 ** 52;

/**
 * One process's share of a bucket, for states that outlive a change of the number of processes: a bucket with the share's
 * capacity and the whole rate, on `DividedClock`. A token is the same number of ticks in every share, so a change converts and
 * rounds nothing.
 *
 * In any interval a process admits at most the capacity of the share at the interval's end (a queue also the departing
 * request), plus the shares of the rate over the interval. The shared time is rounded against the client, by less than one
 * microsecond of the shared time.
 *
 * A queue also keeps its next slot by the clock. Slots that were handed out stay, and the next slot follows them at the rate of
 * the share that handed them out.
 */
export class BucketShare implements Algorithm<ShareLevel, ShareState> {
  readonly name: AlgorithmName;
  readonly code: string;
  readonly delays: boolean;
  readonly refills = true;
  readonly limit: number;
  readonly maxCost: number;
  readonly window: number;
  readonly rate: string;
  readonly wire: WireFormat<ShareLevel>;
  readonly shares: Shares;
  /** A share refunds nothing: a charge during an outage stays charged. */
  readonly refunds?: never;
  readonly overdraft: DebtOverdraft;
  readonly footprint: Footprint<ShareState> = {
    bytesPerCost: 0,
    sizeOf: () => 128,
    // More processes than at the time of writing pay the debt off later.
    outlives: (state, now) => this.debt(state, now) > 0 || state.slot > now,
  };
  private readonly processes: number;

  /**
   * @param bucket the share's capacity with the whole rate
   * @param rate the `rate` of the whole bucket, which is the same for all shares
   */
  constructor(
    private readonly bucket: Bucket,
    rate: string,
    private readonly time: DividedClock,
  ) {
    this.name = bucket.name;
    this.code = bucket.code;
    this.delays = bucket.delays;
    this.limit = bucket.limit;
    this.maxCost = bucket.maxCost;
    this.rate = rate;
    const { program, numbers, replyLength } = bucket.wire;
    this.wire = {
      program,
      numbers,
      replyLength,
      isLevel: (reply, offset, maxSkew) => bucket.wire.isLevel(reply, offset, maxSkew),
      // Redis keeps no shares of one process, so its levels are those of the bucket.
      decode: (reply, offset) => ({ debt: bucket.wire.decode(reply, offset), passed: 0, wait: 0, waitTicks: 0 }),
    };
    const { shardable } = bucket.shares;
    this.shares = { shardable, of: (processes, atLeast) => bucket.shares.of(processes, atLeast), local: () => this };
    this.overdraft = new DebtOverdraft(bucket.overdraft);
    this.processes = time.processes;
    this.window = this.byClock(bucket.window);
  }

  describe(): string {
    return this.bucket.describe();
  }

  /** Always false: a larger share may have put the state further ahead than this one can. */
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

  fits({ debt }: ShareLevel, cost: number): boolean {
    return this.bucket.fits(debt, cost);
  }

  charge({ debt, passed, wait, waitTicks }: ShareLevel, cost: number): ShareLevel {
    const { ticksPerMicrosecond } = this.bucket;
    const charged = this.bucket.charge(debt, cost);
    const slots = charged - debt;
    // The shared time is rounded down. A debt that begins within one of its microseconds counts from the next one, because it
    // would be paid off too early otherwise.
    const after = debt === 0 && passed > 0 && cost > 0 ? charged + ticksPerMicrosecond : charged;
    if (!this.delays) return { debt: after, passed, wait, waitTicks };
    const ticks = (slots % ticksPerMicrosecond) * this.processes + waitTicks;
    const whole = this.byClock(Math.floor(slots / ticksPerMicrosecond)) + Math.floor(ticks / ticksPerMicrosecond);
    return { debt: after, passed, wait: wait + whole, waitTicks: ticks % ticksPerMicrosecond };
  }

  write(level: ShareLevel, now: number, state: ShareState = { at: 0, ticks: 0, slot: 0, slotTicks: 0 }): ShareState {
    this.bucket.write(level.debt, this.time.at(now), state);
    state.slot = this.delays ? now + level.wait : 0;
    state.slotTicks = level.waitTicks;
    return state;
  }

  expiresAt(level: ShareLevel, now: number): number {
    return now + this.resetAfter(level);
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

  /** Rounded up: no request passes before its slot. */
  delay({ wait, waitTicks }: ShareLevel): number {
    return waitTicks > 0 ? wait + 1 : wait;
  }

  private debt(state: ShareState, now: number): number {
    return this.bucket.read(state, this.time.at(now), Infinity);
  }

  /** Converts microseconds of the shared time, counted from a whole one, to microseconds of the clock. */
  private byClock(microseconds: number): number {
    return Math.min(microseconds * this.processes, FOREVER);
  }
}

import { type Algorithm, type ChargeMark, isWhole, type TokenSettlement } from './algorithm.js';
import type { BucketShare } from './bucket-share.js';
import type { Instant } from './bucket.js';
import type { SharedTime } from './shared-time.js';
import type { TokenBucket } from './token-bucket.js';

/** A token bucket's state, with the tokens that are leased. */
interface LeasedState extends Instant {
  /** The generation in which the state was written: the time since 1970 in units of the lease's length, rounded down. */
  generation: number;
  /** The unsettled tokens that were leased in that generation, and in the one before it. */
  young: number;
  old: number;
}

interface LeasedLevel {
  /** The ticks that are missing from a full bucket: at least those of the leased tokens. */
  readonly debt: number;
  /** The unsettled tokens that were leased in this generation, and in the one before it. */
  readonly young: number;
  readonly old: number;
  readonly now: number;
}

const NOTHING: TokenSettlement = { at: 0, granted: 0, used: 0 };
/** A lease takes at most this part of the available tokens, and all leases together at most half of the capacity. */
const PART = 4;
const LEASABLE = 2;
/** Fewer tokens are not worth a lease. */
const FEWEST = 2;

/**
 * A token bucket that leases tokens to pods ahead of demand. Leased tokens that are not settled occupy the bucket: those in it and
 * those on lease never exceed the capacity, so what refills meanwhile does not come on top. docs/leases.md has the proof.
 *
 * A lease of generation g counts until the end of generation g + 1, which is its length after it was granted or later. So two
 * sums suffice, whatever the number of pods. A lease that is not settled until then counts as used.
 */
export class LeasedBucket implements Algorithm<LeasedLevel, LeasedState> {
  readonly name = 'token-bucket';
  readonly program: string = 'leased-bucket';
  readonly code = 'tbl';
  readonly delays = false;
  readonly refills = true;
  /** A pod would need a lease of each shard. */
  readonly shardable = false;
  readonly replyLength = 4;
  readonly bytesPerCost = 0;
  readonly stampLength: number = 1;
  readonly limit: number;
  readonly maxCost: number;
  readonly window: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly refundUnit: number;
  readonly maxOverdraft: number;
  private readonly p: number;
  private readonly q: number;
  private readonly full: number;

  /** @param length microseconds of a lease */
  constructor(
    protected readonly bucket: TokenBucket,
    protected readonly length: number,
  ) {
    const [p, q, full] = bucket.wire as [number, number, number];
    this.p = p;
    this.q = q;
    this.full = full;
    this.limit = bucket.limit;
    this.maxCost = bucket.maxCost;
    this.window = bucket.window;
    this.rate = `${bucket.rate}@${length}`;
    this.wire = [p, q, full, length];
    this.refundUnit = bucket.refundUnit;
    this.maxOverdraft = bucket.maxOverdraft;
  }

  describe(): string {
    return `${this.bucket.describe()}, lease for ${this.length / 1000} ms`;
  }

  /** A process that decides alone leases nothing. */
  share(processes: number, atLeast: number): TokenBucket {
    return this.bucket.share(processes, atLeast);
  }

  localShare(time: SharedTime, atLeast: number): BucketShare {
    return this.bucket.localShare(time, atLeast);
  }

  /**
   * The algorithm whose charge leases up to `want` tokens, and settles a lease before. It always fits, whatever its cost; the
   * stamp of its receipt is the number of tokens.
   */
  tokenLease(want: number, settled?: TokenSettlement): Algorithm {
    return new TokenLeaseCharge(this.bucket, this.length, want, settled ?? NOTHING);
  }

  isAhead(state: LeasedState, now: number, maxSkew: number): boolean {
    if (this.bucket.isAhead(state, now, maxSkew)) return true;
    return state.young + state.old > 0 && state.generation > this.generationOf(now + maxSkew);
  }

  read(state: LeasedState | undefined, now: number, maxSkew: number): LeasedLevel {
    if (state === undefined) return { debt: 0, young: 0, old: 0, now };
    const { q, length } = this;
    const { generation, young, old } = state;
    const debt = this.bucket.read(state, now, maxSkew);
    const passed = this.generationOf(now) - generation;
    // Where the clock has stepped back, the leases of pods last all the same.
    if (passed < 0) return { debt: Math.max(debt, (young + old) * q), young: young + old, old: 0, now };
    if (passed === 0) return { debt: Math.max(debt, (young + old) * q), young, old, now };
    // While a lease counted, the bucket could not refill beyond it. Since then it refills from there.
    const ended = (generation + 1) * length;
    const afterFirst = Math.max(debt, this.refilled(young + old, ended, now));
    if (passed === 1) return { debt: Math.max(afterFirst, young * q), young: 0, old: young, now };
    return { debt: Math.max(afterFirst, this.refilled(young, ended + length, now)), young: 0, old: 0, now };
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return (
      this.bucket.isLevel(reply, offset, maxSkew) &&
      isWhole(reply[offset + 1], 0, this.limit) &&
      isWhole(reply[offset + 2], 0, this.limit) &&
      isWhole(reply[offset + 3], 0)
    );
  }

  decode(reply: readonly number[], offset: number): LeasedLevel {
    return { debt: reply[offset]!, young: reply[offset + 1]!, old: reply[offset + 2]!, now: reply[offset + 3]! };
  }

  fits({ debt }: LeasedLevel, cost: number): boolean {
    return this.bucket.fits(debt, cost);
  }

  charge(level: LeasedLevel, cost: number): LeasedLevel {
    const { debt, young, old, now } = level;
    return { debt: debt + cost * this.q, young, old, now };
  }

  write({ debt, young, old }: LeasedLevel, now: number, state?: LeasedState): LeasedState {
    const written = (state ?? { at: 0, ticks: 0 }) as LeasedState;
    this.bucket.write(debt, now, written);
    written.generation = this.generationOf(now);
    written.young = young;
    written.old = old;
    return written;
  }

  /**
   * As a token bucket refunds, above the debt of the leases: below that debt the bucket could never refill. Leases that were
   * taken since raise both the debt and that floor, and those that ended lower the floor, so neither makes a refund too large.
   */
  refund(state: LeasedState, now: number, cost: number, charge: ChargeMark): number {
    const level = this.read(state, now, Infinity);
    const above: Instant = { at: 0, ticks: 0 };
    if (state.tail !== undefined) above.tail = { ...state.tail };
    this.bucket.write(level.debt - this.leased(level), now, above);
    // The debt before a charge without a stamp is known, but not the part of the leases in it.
    const refunded = this.bucket.refund(above, now, cost, { ...charge, stamp: charge.stamp ?? [0, 0] });
    if (refunded === 0) return 0;
    state.tail = above.tail!;
    this.write({ ...level, debt: level.debt - refunded }, now, state);
    return refunded;
  }

  roomWithin({ debt }: LeasedLevel, overdraft: number): number {
    return this.bucket.roomWithin(debt, overdraft);
  }

  readStamp(state: LeasedState | undefined, now: number): readonly number[] {
    return this.bucket.readStamp(state, now);
  }

  stamp(level: LeasedLevel, numbers?: readonly number[]): readonly number[] {
    return this.bucket.stamp(level.debt - this.leased(level), numbers);
  }

  hold(state: LeasedState | undefined, now: number): void {
    this.bucket.hold(state, now);
  }

  sizeOf(state: LeasedState | undefined): number {
    return this.bucket.sizeOf(state) + 32;
  }

  expiresAt(level: LeasedLevel, now: number): number {
    return now + this.resetAfter(level);
  }

  outlives(state: LeasedState, now: number): boolean {
    return this.bucket.outlives(state, now);
  }

  remaining({ debt }: LeasedLevel): number {
    return this.bucket.remaining(debt);
  }

  resetAfter(level: LeasedLevel): number {
    return this.timeTo(level, 0);
  }

  retryAfter(level: LeasedLevel, cost: number): number {
    return this.timeTo(level, this.full - cost * this.q);
  }

  delay(): number {
    return 0;
  }

  /** The level after the settlement, and the tokens of the lease that is granted then. */
  protected grant(level: LeasedLevel, want: number, settled: TokenSettlement): { after: LeasedLevel; granted: number } {
    const { q, length, full, limit } = this;
    const { now } = level;
    let { debt, young, old } = level;
    const { granted: n, used } = settled;
    if (n > 0) {
      const passed = this.generationOf(now) - Math.floor(settled.at / length);
      if (passed === 0 && young >= n) {
        young -= n;
        debt -= (n - used) * q;
      } else if (passed === 1 && old >= n) {
        old -= n;
        debt -= (n - used) * q;
      }
    }
    const available = Math.floor((full - debt) / q);
    const part = Math.min(want, Math.floor(available / PART), Math.floor(limit / LEASABLE) - young - old);
    const granted = part < FEWEST ? 0 : part;
    return { after: { debt: debt + granted * q, young: young + granted, old, now }, granted };
  }

  /** Microseconds until the debt is no more than `most`, if nothing else happens. */
  private timeTo(level: LeasedLevel, most: number): number {
    const { p, q, length } = this;
    const { debt, young, old, now } = level;
    let time = debt > most ? Math.ceil((debt - most) / p) : 0;
    const left = length - (now % length);
    const both = (young + old) * q - most;
    if (young + old > 0 && both > 0) time = Math.max(time, left + Math.ceil(both / p));
    const last = young * q - most;
    if (young > 0 && last > 0) time = Math.max(time, left + length + Math.ceil(last / p));
    return time;
  }

  /** The debt of a bucket that refills from `tokens` on since `instant`. */
  private refilled(tokens: number, instant: number, now: number): number {
    return tokens * this.q - (now - instant) * this.p;
  }

  private leased({ young, old }: LeasedLevel): number {
    return (young + old) * this.q;
  }

  private generationOf(instant: number): number {
    return Math.floor(instant / this.length);
  }
}

/** Takes a lease. Its states and keys are those of `LeasedBucket`. */
class TokenLeaseCharge extends LeasedBucket {
  override readonly stampLength = 0;
  override readonly wire: readonly number[];

  constructor(
    bucket: TokenBucket,
    length: number,
    private readonly want: number,
    private readonly settled: TokenSettlement,
  ) {
    super(bucket, length);
    const { at, granted, used } = settled;
    this.wire = [...bucket.wire, length, want, Math.floor(at / length), granted, used];
  }

  override fits(): boolean {
    return true;
  }

  override charge(level: LeasedLevel): LeasedLevel {
    return this.grant(level, this.want, this.settled).after;
  }

  override stamp(level: LeasedLevel): readonly number[] {
    return [this.grant(level, this.want, this.settled).granted];
  }
  /** It is no reservation: nothing is settled by its receipt. */
  override hold(): void {}
}

import type { Algorithm } from '../core/algorithm.js';
import { BUCKET_FOOTPRINT, type Instant } from '../bucket/bucket.js';
import type { Footprint } from '../core/footprint.js';
import { DebtOverdraft } from '../core/overdraft.js';
import type { GrantedPrefetch, TokenSettlement } from '../core/prefetch.js';
import type { Shares } from '../core/shares.js';
import type { RefundMarkers } from '../core/refunds.js';
import { PrefetchBucketRefunds } from './prefetch-refunds.js';
import { PrefetchBucketWire } from './prefetch-wire.js';
import type { TokenBucket } from './token-bucket.js';

/** A token bucket's state, with its prefetched tokens. */
export interface PrefetchState extends Instant {
  /** The generation in which the state was written: the time since 1970 in units of a prefetch's length, rounded down. */
  generation: number;
  /** The unsettled tokens that were prefetched in that generation, and in the one before it. */
  young: number;
  old: number;
}

export interface PrefetchLevel {
  /** The ticks that are missing from a full bucket: at least those of the prefetched tokens. */
  readonly debt: number;
  /** The unsettled tokens that were prefetched in this generation, and in the one before it. */
  readonly young: number;
  readonly old: number;
  readonly now: number;
}

const NOTHING: TokenSettlement = { at: 0, granted: 0, used: 0 };
/** A prefetch takes at most this part of the available tokens, and all prefetches together at most half of the capacity. */
const PART = 4;
const PREFETCHABLE = 2;
/** Fewer tokens are not worth a prefetch. */
const FEWEST = 2;

const FOOTPRINT: Footprint<PrefetchState> = {
  ...BUCKET_FOOTPRINT,
  sizeOf: (state) => BUCKET_FOOTPRINT.sizeOf(state) + 32,
};

/**
 * A token bucket whose tokens pods prefetch. Prefetched tokens that are not settled occupy the bucket: the tokens in the bucket
 * and the prefetched ones together never exceed the capacity, so a refill cannot add to a full capacity.
 *
 * Proof that an interval t admits at most C + r x t, for a capacity C and a refill r. Let B be the tokens in the bucket, and O the
 * prefetched ones that are not settled. A prefetch of n moves n from B to O, and a refill stops at B = C - O. A settlement refills B
 * first, then lowers O by n and raises B by what was not used. A prefetch that ends unsettled lowers O alone. So B + O <= C always.
 * Let V be B plus the unused tokens in pods, so V <= C: a refill alone raises V, each admission lowers it by its cost, a settlement
 * moves tokens within it.
 *
 * A prefetch of generation g counts until the end of generation g + 1, which is its length after it was granted or later. So two
 * sums suffice, whatever the number of pods. A prefetch that is not settled until then counts as used.
 */
export class PrefetchBucket implements Algorithm<PrefetchLevel, PrefetchState> {
  readonly name = 'token-bucket';
  readonly code = 'tbp';
  readonly delays = false;
  readonly refills = true;
  readonly limit: number;
  readonly maxCost: number;
  readonly window: number;
  readonly rate: string;
  readonly wire: PrefetchBucketWire;
  readonly shares: Shares;
  readonly refunds: PrefetchBucketRefunds;
  readonly overdraft: DebtOverdraft;
  readonly prefetch: GrantedPrefetch;
  readonly footprint: Footprint<PrefetchState>;
  private readonly p: number;
  private readonly q: number;
  private readonly full: number;

  /** @param length microseconds of a prefetch */
  constructor(
    protected readonly bucket: TokenBucket,
    protected readonly length: number,
  ) {
    const { ticksPerMicrosecond, ticksPerToken, full } = bucket;
    this.p = ticksPerMicrosecond;
    this.q = ticksPerToken;
    this.full = full;
    this.limit = bucket.limit;
    this.maxCost = bucket.maxCost;
    this.window = bucket.window;
    this.rate = `${bucket.rate}@${length}`;
    this.wire = new PrefetchBucketWire(bucket, [...bucket.wire.numbers, length]);
    this.shares = new PrefetchBucketShares(bucket.shares);
    this.refunds = new PrefetchBucketRefunds(this, bucket);
    this.overdraft = new DebtOverdraft(bucket.overdraft);
    this.prefetch = new BucketPrefetch(bucket, length);
    this.footprint = FOOTPRINT;
  }

  describe(): string {
    return `${this.bucket.describe()}, prefetch for ${this.length / 1000} ms`;
  }

  isAhead(state: PrefetchState, now: number, maxSkew: number): boolean {
    if (this.bucket.isAhead(state, now, maxSkew)) return true;
    return state.young + state.old > 0 && state.generation > this.generationOf(now + maxSkew);
  }

  read(state: PrefetchState | undefined, now: number, maxSkew: number): PrefetchLevel {
    if (state === undefined) return { debt: 0, young: 0, old: 0, now };
    const { q, length } = this;
    const { generation, young, old } = state;
    const debt = this.bucket.read(state, now, maxSkew);
    const passed = this.generationOf(now) - generation;
    // After the clock has stepped back, the prefetches of pods stay valid all the same.
    if (passed < 0) return { debt: Math.max(debt, (young + old) * q), young: young + old, old: 0, now };
    if (passed === 0) return { debt: Math.max(debt, (young + old) * q), young, old, now };
    // While a prefetch counted, the bucket could not refill beyond it. Since then it refills from there.
    const ended = (generation + 1) * length;
    const afterFirst = Math.max(debt, this.refilled(young + old, ended, now));
    if (passed === 1) return { debt: Math.max(afterFirst, young * q), young: 0, old: young, now };
    return { debt: Math.max(afterFirst, this.refilled(young, ended + length, now)), young: 0, old: 0, now };
  }

  fits({ debt }: PrefetchLevel, cost: number, headroom = 0): boolean {
    return this.bucket.fits(debt, cost, headroom);
  }

  charge(level: PrefetchLevel, cost: number): PrefetchLevel {
    const { debt, young, old, now } = level;
    return { debt: debt + cost * this.q, young, old, now };
  }

  write({ debt, young, old }: PrefetchLevel, now: number, state?: PrefetchState): PrefetchState {
    const written = (state ?? { at: 0, ticks: 0 }) as PrefetchState;
    this.bucket.write(debt, now, written);
    written.generation = this.generationOf(now);
    written.young = young;
    written.old = old;
    return written;
  }

  expiresAt(level: PrefetchLevel, now: number): number {
    return now + this.resetAfter(level);
  }

  remaining({ debt }: PrefetchLevel): number {
    return this.bucket.remaining(debt);
  }

  resetAfter(level: PrefetchLevel): number {
    return this.timeTo(level, 0);
  }

  retryAfter(level: PrefetchLevel, cost: number): number {
    return this.timeTo(level, this.full - cost * this.q);
  }

  delay(): number {
    return 0;
  }

  /** The level after the settlement, and the tokens of the prefetch that is granted then. */
  protected grant(
    level: PrefetchLevel,
    want: number,
    settled: TokenSettlement,
  ): { after: PrefetchLevel; granted: number } {
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
    const part = Math.min(want, Math.floor(available / PART), Math.floor(limit / PREFETCHABLE) - young - old);
    const granted = part < FEWEST ? 0 : part;
    return { after: { debt: debt + granted * q, young: young + granted, old, now }, granted };
  }

  /** Microseconds until the debt is no more than `most`, if nothing else happens. */
  private timeTo(level: PrefetchLevel, most: number): number {
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

  /** The debt below which the prefetched tokens keep the bucket. */
  debtOfPrefetched({ young, old }: PrefetchLevel): number {
    return (young + old) * this.q;
  }

  private generationOf(instant: number): number {
    return Math.floor(instant / this.length);
  }
}

/**
 * The shares of the bucket: a process that decides alone prefetches nothing, and a bucket with shards would need a prefetch for
 * each.
 */
class PrefetchBucketShares implements Shares {
  readonly shardable = false;

  constructor(private readonly bucket: Shares) {}

  of(processes: number, atLeast: number): Algorithm {
    return this.bucket.of(processes, atLeast);
  }
}

class BucketPrefetch implements GrantedPrefetch {
  readonly kind = 'granted';

  constructor(
    private readonly bucket: TokenBucket,
    private readonly length: number,
  ) {}

  charge(want: number, settled = NOTHING): Algorithm {
    return new PrefetchCharge(this.bucket, this.length, want, settled);
  }
}

/** Prefetches tokens. Its states and keys are those of `PrefetchBucket`. */
class PrefetchCharge extends PrefetchBucket {
  override readonly wire: PrefetchBucketWire;
  override readonly refunds: PrefetchBucketRefunds;

  constructor(
    bucket: TokenBucket,
    length: number,
    private readonly want: number,
    private readonly settled: TokenSettlement,
  ) {
    super(bucket, length);
    const { at, granted, used } = settled;
    this.wire = new PrefetchBucketWire(bucket, [
      ...bucket.wire.numbers,
      length,
      want,
      Math.floor(at / length),
      granted,
      used,
    ]);
    this.refunds = new PrefetchBucketRefunds(this, bucket, new GrantRefundMarkers(this));
  }

  override fits(): boolean {
    return true;
  }

  override charge(level: PrefetchLevel): PrefetchLevel {
    return this.grant(level, this.want, this.settled).after;
  }

  /** The tokens that are granted at this level. */
  granted(level: PrefetchLevel): number {
    return this.grant(level, this.want, this.settled).granted;
  }
}

/** The refund marker of a grant is how many tokens it has granted. It is no reservation: nothing is settled by its receipt. */
class GrantRefundMarkers implements RefundMarkers<PrefetchLevel, PrefetchState> {
  readonly length = 0;

  constructor(private readonly grant: PrefetchCharge) {}

  read(): readonly number[] {
    return [];
  }

  of(level: PrefetchLevel): readonly number[] {
    return [this.grant.granted(level)];
  }

  hold(): void {}
}

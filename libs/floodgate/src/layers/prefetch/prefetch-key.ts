import type { Algorithm } from '../../algorithms/core/algorithm.js';
import type { PrefetchTerms } from '../../policy/prefetch.js';
import type { ChargeVerdict, Verdict } from '../../stores/store.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { Demand } from './demand.js';
import type { PrefetchedTokens } from './prefetched-tokens.js';

/** The fewest requests within a prefetch's time that make a prefetch worthwhile. */
const HOT = 4;
/** The demand is multiplied by this factor to get the size of a prefetch, because demand varies. */
const MARGIN = 1.5;
/** The next prefetch is due when a smaller part of the demand is left. */
const LOW = 0.2;
/** A prefetch takes at most 1/PART of what a window has left, as with the prefetch bucket: the rest is for other processes. */
const PART = 4;
/** Fewer tokens are not worth a prefetch. */
const FEWEST = 2;
/** The most ended prefetches that wait for their settlement. */
const MAX_ENDED = 3;
const MICROSECONDS = 1000;

/** The prefetches of one key, its demand, and the store's last answer. */
export class PrefetchKey {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly demand: Demand;
  /** Milliseconds that a prefetch lasts. */
  readonly length: number;
  using: PrefetchedTokens | undefined;
  /** The prefetch to use after `using`. */
  spare: PrefetchedTokens | undefined;
  /** Prefetches that are no longer used, oldest first: each is settled once, or never. */
  readonly ended: PrefetchedTokens[] = [];
  isAsking = false;
  /** Whether a reset has forgotten it. */
  isForgotten = false;
  /** Monotonic milliseconds at which a token was last used, and before which no prefetch is asked for. */
  usedAt = -Infinity;
  notBefore = -Infinity;
  /** The instant of the store's last answer, in monotonic milliseconds and by the store's clock. */
  private answeredAt = -Infinity;
  private at = 0;
  private remaining = 0;
  private resetAfter = 0;

  constructor(
    readonly charge: PolicyCharge,
    readonly terms: PrefetchTerms,
  ) {
    this.key = charge.key;
    this.algorithm = charge.algorithm;
    this.length = terms.length / MICROSECONDS;
    this.demand = new Demand(this.length);
  }

  /** Whether a charge has the same meaning: an override may have changed a window's limit, which its key does not name. */
  isOf(algorithm: Algorithm, terms: PrefetchTerms): boolean {
    const own = this.algorithm;
    if (own === algorithm) return true;
    return own.limit === algorithm.limit && own.rate === algorithm.rate && this.terms.length === terms.length;
  }

  /** The prefetch that can pay `cost` now. Ends prefetches that cannot. */
  payer(cost: number, now: number): PrefetchedTokens | undefined {
    this.tidy(now);
    if (this.using !== undefined && this.using.left >= cost) return this.using;
    if (this.spare === undefined || this.spare.left < cost) return undefined;
    this.end(this.using);
    this.using = this.spare;
    this.spare = undefined;
    return this.using;
  }

  /** Ends prefetches whose time is over, and takes the next one where one is used up. */
  tidy(now: number): void {
    if (this.spare !== undefined && now >= this.spare.endsAt) this.spare = this.end(this.spare);
    if (this.using === undefined) return;
    if (now < this.using.endsAt && (this.using.left > 0 || this.spare === undefined)) return;
    this.end(this.using);
    this.using = this.spare;
    this.spare = undefined;
  }

  add(prefetch: PrefetchedTokens): void {
    if (this.using === undefined) this.using = prefetch;
    else if (this.spare === undefined) this.spare = prefetch;
    else this.end(prefetch);
  }

  /**
   * Removes and returns what is to be settled together with the next prefetch: an ended prefetch, or the one in use without the
   * tokens that are needed until the next one arrives. The one in use is settled before its end, because the store forgets it
   * soon after.
   */
  settled(now: number): PrefetchedTokens | undefined {
    const { using, ended } = this;
    if (using === undefined || this.spare !== undefined || (ended[0]?.granted ?? 0) > using.granted)
      return ended.shift();
    const time = Math.min(using.endsAt - now, using.endsAt - using.renewAt);
    const kept = Math.min(using.left, Math.ceil((this.demand.costAt(now) * time) / this.length));
    const { pending } = using;
    if (kept + pending >= using.granted) return ended.shift();
    this.using = { ...using, granted: kept + pending, left: kept };
    using.heir = this.using;
    using.granted -= kept + pending;
    using.left -= kept;
    return using;
  }

  /** Ends all prefetches. */
  endAll(): void {
    this.using = this.end(this.using);
    this.spare = this.end(this.spare);
  }

  /** The tokens that are left. */
  get left(): number {
    return (this.using?.left ?? 0) + (this.spare?.left ?? 0);
  }

  /** How many tokens should be asked for now; 0: none. */
  wanted(now: number): number {
    if (this.isAsking || this.spare !== undefined || now < this.notBefore || this.remaining < FEWEST * PART) return 0;
    const { demand, using, terms, algorithm } = this;
    if (demand.requestsAt(now) < HOT) return 0;
    const cost = demand.costAt(now);
    const { left } = this;
    if (using !== undefined && now < using.renewAt && left >= cost * LOW) return 0;
    let want = Math.min(terms.max, Math.ceil(cost * MARGIN));
    // A window charges all of `want` or nothing, and the old tokens stay valid. With a bucket, new tokens replace the old ones.
    if (algorithm.prefetch?.kind === 'charged') want = Math.min(want - left, Math.floor(this.remaining / PART));
    return want < FEWEST ? 0 : want;
  }

  /** @param answeredAt monotonic milliseconds */
  noteVerdict({ at }: Verdict, { remaining, resetAfter }: ChargeVerdict, answeredAt: number): void {
    this.at = at;
    this.remaining = remaining;
    this.resetAfter = resetAfter;
    this.answeredAt = answeredAt;
  }

  /** The approximate time by the store's clock, in microseconds. */
  storeTime(now: number): number {
    return this.at + Math.max(0, Math.floor((now - this.answeredAt) * MICROSECONDS));
  }

  /** The estimated verdict on a request that prefetched tokens pay. Other processes may have charged the key since. */
  estimate(now: number): ChargeVerdict {
    const elapsed = Math.floor((now - this.answeredAt) * MICROSECONDS);
    return {
      allowed: true,
      remaining: Math.min(this.algorithm.limit, this.remaining + this.left),
      resetAfter: Math.max(0, this.resetAfter - elapsed),
      retryAfter: 0,
      delay: 0,
      estimated: true,
    };
  }

  private end(prefetch: PrefetchedTokens | undefined): undefined {
    if (prefetch === undefined) return;
    this.ended.push(prefetch);
    if (this.ended.length > MAX_ENDED) this.ended.shift()!.isOpen = false;
  }
}

import type { Algorithm } from '../../algorithms/algorithm.js';
import type { TokenLeaseTerms } from '../../policy/token-lease.js';
import type { ChargeVerdict, Verdict } from '../../stores/store.js';
import type { PolicyCharge } from '../policy-charge.js';
import { Demand } from './demand.js';
import type { Lease } from './lease.js';

/** Requests within the lease's time from which on a key is worth a lease. */
const HOT = 4;
/** A lease covers this much of the demand, because demand varies. */
const MARGIN = 1.5;
/** With a smaller part of the demand left the next lease is due. */
const LOW = 0.2;
/** A window is asked for at most this part of what is left, as the leased bucket gives: the rest is for other processes. */
const PART = 4;
/** Fewer tokens are not worth a lease. */
const FEWEST = 2;
/** Leases that have ended and are not settled yet. */
const MAX_ENDED = 3;
const MICROSECONDS = 1000;

/** The leases of one key, its demand, and what the store last said of it. */
export class LeasedKey {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly demand: Demand;
  /** Milliseconds. */
  readonly length: number;
  using: Lease | undefined;
  /** Comes after `using`. */
  spare: Lease | undefined;
  /** Leases that are not used any more, oldest first: each is settled once, or never. */
  readonly ended: Lease[] = [];
  isAsking = false;
  /** Whether a reset has forgotten it. */
  isForgotten = false;
  /** Monotonic milliseconds at which a token was last used, and before which no lease is asked for. */
  usedAt = -Infinity;
  notBefore = -Infinity;
  /** What the store last said: when, in monotonic milliseconds, and by its own clock. */
  private toldAt = -Infinity;
  private at = 0;
  private remaining = 0;
  private resetAfter = 0;

  constructor(
    readonly charge: PolicyCharge,
    readonly terms: TokenLeaseTerms,
  ) {
    this.key = charge.key;
    this.algorithm = charge.algorithm;
    this.length = terms.length / MICROSECONDS;
    this.demand = new Demand(this.length);
  }

  /** Whether a charge has the same meaning: an override may have changed a window's limit, which its key does not name. */
  isOf(algorithm: Algorithm, terms: TokenLeaseTerms): boolean {
    const own = this.algorithm;
    if (own === algorithm) return true;
    return own.limit === algorithm.limit && own.rate === algorithm.rate && this.terms.length === terms.length;
  }

  /** The lease that pays `cost` now. Leases that cannot any more are ended. */
  payer(cost: number, now: number): Lease | undefined {
    this.tidy(now);
    if (this.using !== undefined && this.using.left >= cost) return this.using;
    if (this.spare === undefined || this.spare.left < cost) return undefined;
    this.end(this.using);
    this.using = this.spare;
    this.spare = undefined;
    return this.using;
  }

  /** Ends leases whose time is over, and takes the next one where one is used up. */
  tidy(now: number): void {
    if (this.spare !== undefined && now >= this.spare.endsAt) this.spare = this.end(this.spare);
    if (this.using === undefined) return;
    if (now < this.using.endsAt && (this.using.left > 0 || this.spare === undefined)) return;
    this.end(this.using);
    this.using = this.spare;
    this.spare = undefined;
  }

  add(lease: Lease): void {
    if (this.using === undefined) this.using = lease;
    else if (this.spare === undefined) this.spare = lease;
    else this.end(lease);
  }

  /**
   * Takes out of the leases what is to be settled together with the next lease: one that has ended, or the lease in use without the
   * tokens that are needed until the next one is there. It must not wait for its end: the store forgets it soon after.
   */
  settled(now: number): Lease | undefined {
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

  /** Ends all leases. */
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
    // A window is charged what is asked for, or nothing, and its tokens stay good. Those of a bucket are exchanged.
    if (algorithm.leasedFor !== undefined) want = Math.min(want - left, Math.floor(this.remaining / PART));
    return want < FEWEST ? 0 : want;
  }

  /** @param answeredAt monotonic milliseconds */
  told({ at }: Verdict, { remaining, resetAfter }: ChargeVerdict, answeredAt: number): void {
    this.at = at;
    this.remaining = remaining;
    this.resetAfter = resetAfter;
    this.toldAt = answeredAt;
  }

  /** The instant by the store's clock, about: microseconds. */
  storeTime(now: number): number {
    return this.at + Math.max(0, Math.floor((now - this.toldAt) * MICROSECONDS));
  }

  /** What a request is told that a lease has paid. Other processes may have asked since. */
  estimate(now: number): ChargeVerdict {
    const elapsed = Math.floor((now - this.toldAt) * MICROSECONDS);
    return {
      allowed: true,
      remaining: Math.min(this.algorithm.limit, this.remaining + this.left),
      resetAfter: Math.max(0, this.resetAfter - elapsed),
      retryAfter: 0,
      delay: 0,
      estimated: true,
    };
  }

  private end(lease: Lease | undefined): undefined {
    if (lease === undefined) return;
    this.ended.push(lease);
    if (this.ended.length > MAX_ENDED) this.ended.shift()!.isOpen = false;
  }
}

import { sameCharges } from '../../stores/charge.js';
import type { Denials, KnownDenial } from '../../stores/denials.js';
import type { Charge, Verdict } from '../../stores/store.js';
import { flatten } from '../../util/flat-text.js';
import { LruMap } from '../../util/lru-map.js';
import { later } from '../../charges/layer-verdict.js';

interface Denial extends KnownDenial {
  readonly charges: readonly Charge[];
  /** Monotonic milliseconds at which the answer came in, and until which it is certain. */
  readonly receivedAt: number;
  readonly certainUntil: number;
}

/** The most denials to keep: those of clients that ask again stay. */
const MAX_DENIALS = 50_000;
/** The most charges of these denials: one request can have 32. */
const MAX_CHARGES = 100_000;
/** The most resets to remember by key, in each of two maps. Beyond them, every denial from before is asked again. */
const MAX_RESETS = 5_000;
/** The clocks of this process and of the store drift apart by at most 1 - DRIFT. */
const DRIFT = 0.998;

/**
 * Keeps the rejections that are certain, so that the store is not asked for them again. After a store has rejected a request,
 * no charge makes the same request pass before its `retryAfter`. A reset, a refund, a lost state or a stepping clock can: so a
 * denial is kept for a second at most. A client far over its limit then costs its process one look-up, and Redis nothing.
 *
 * The verdict is the store's: `remaining` as it was then, `resetAfter` and `retryAfter` counted down since the answer.
 */
export class DenialCache implements Denials {
  /** Denials by the key of a charge that was rejected. */
  private readonly denials: LruMap<Denial>;
  /** The last reset of each key, in monotonic milliseconds. A denial that was asked for before it is not certain. */
  private resets = new Map<string, number>();
  /**
   * Older resets. Two maps take turns, because V8 finds the oldest entry of a single map slowly: it walks over all deleted
   * ones.
   */
  private olderResets = new Map<string, number>();
  /** Monotonic milliseconds of the first and the last reset of `resets`, and of the last one of `olderResets`. */
  private firstReset = -Infinity;
  private lastReset = -Infinity;
  private lastOlderReset = -Infinity;
  /** Monotonic milliseconds of the last reset of all keys. */
  private resetAt = -Infinity;

  /**
   * @param maxMs milliseconds that a denial is kept at most
   * @param monotonicMs milliseconds of a clock that never steps
   * @param maxDenials denials kept at most; the cache reserves their memory
   */
  constructor(
    private readonly maxMs: number,
    private readonly monotonicMs: () => number = () => performance.now(),
    maxDenials = MAX_DENIALS,
  ) {
    this.denials = new LruMap(maxDenials, { max: MAX_CHARGES, of: ({ charges }) => charges.length });
  }

  /**
   * The certain rejection of a request, with the time at which the store was asked: a denial derived from this one must not last longer.
   * Undefined when the store has to be asked.
   */
  findSent(charges: readonly Charge[]): KnownDenial | undefined {
    for (let i = 0; i < charges.length; i++) {
      const denial = this.denials.get(charges[i]!.key);
      // Only the same request is certain: cost 2 can be rejected where cost 1 is not.
      if (denial === undefined || !sameCharges(denial.charges, charges)) continue;
      const now = this.monotonicMs();
      if (now < denial.certainUntil && !this.isReset(denial)) {
        return { verdict: countedDown(denial, now), sentAt: denial.sentAt };
      }
    }
    return undefined;
  }

  /**
   * Notes a verdict if it is a rejection.
   *
   * @param sentAt monotonic milliseconds at which the store was asked
   * @param under the key of the charge under which the denial is kept, one at a time; default the first one that rejected
   */
  note(charges: readonly Charge[], verdict: Verdict, sentAt: number, under?: string): void {
    if (!verdict.allowed && !mayCount(charges, verdict)) this.keep(charges, verdict, sentAt, under);
  }

  /**
   * Forgets the denials that depend on keys that were reset, also those under another key of their request, and those whose
   * answer is still under way.
   */
  forget(keys: readonly string[]): void {
    const now = this.monotonicMs();
    if (this.firstReset + this.maxMs < now) this.beginResets(now);
    this.lastReset = now;
    for (const key of keys) {
      if (this.resets.size >= MAX_RESETS) this.beginResets(now);
      this.denials.delete(key);
      this.resets.set(key, now);
    }
  }

  private beginResets(now: number): void {
    // A denial older than `maxMs` is dropped in any case.
    if (this.lastOlderReset + this.maxMs >= now) this.resetAt = this.lastOlderReset;
    this.olderResets = this.resets;
    this.lastOlderReset = this.lastReset;
    this.resets = new Map();
    this.firstReset = now;
  }

  private isReset({ charges, sentAt }: Denial): boolean {
    if (sentAt <= this.resetAt) return true;
    if (sentAt > this.lastReset) return false;
    return charges.some(({ key }) => sentAt <= (this.resets.get(key) ?? this.olderResets.get(key) ?? -Infinity));
  }

  /** Keeps a denial until the first of the rejecting policies could allow the request: until then all of them reject it. */
  private keep(charges: readonly Charge[], verdict: Verdict, sentAt: number, under?: string): void {
    // A lease can be released at any time.
    if (verdict.charges.some(({ allowed }, i) => !allowed && charges[i]!.algorithm.lease !== undefined)) return;
    const rejecting = verdict.charges.filter(({ allowed }) => !allowed);
    // When a block ends, a policy that rejects for longer counts rejections again.
    const ends = rejecting.map(({ retryAfter, blockedFor = Infinity }) => Math.min(retryAfter, blockedFor) / 1000);
    const certainMs = Math.min(this.maxMs, ...ends) * DRIFT;
    const key = under ?? charges[keeperOf(charges, verdict)]!.key;
    for (const charge of charges) flatten(charge.key);
    this.denials.set(key, {
      charges,
      verdict,
      sentAt,
      receivedAt: this.monotonicMs(),
      certainUntil: sentAt + certainMs,
    });
  }
}

/**
 * The index of the charge under which a rejection is kept: the first one that rejected. Of alternatives it is the last one, because the
 * same request without alternatives is kept under the first one.
 */
function keeperOf(charges: readonly Charge[], verdict: Verdict): number {
  let index = verdict.charges.findIndex(({ allowed }) => !allowed);
  while (charges[index + 1]?.alternative === true) index++;
  return index;
}

/**
 * Whether a block may count the next rejection, so that the store has to see it. A peek is not counted, but it tells of the block that
 * another request may begin. Once all blocks are closed, no rejection counts.
 */
function mayCount(charges: readonly Charge[], verdict: Verdict): boolean {
  for (let i = 0; i < charges.length; i++) {
    if (charges[i]!.block !== undefined && verdict.charges[i]!.blockedFor === undefined) return true;
  }
  return false;
}

function countedDown({ verdict, receivedAt }: Denial, now: number): Verdict {
  const elapsed = Math.floor((now - receivedAt) * 1000);
  return { allowed: false, at: verdict.at + elapsed, charges: verdict.charges.map((known) => later(known, elapsed)) };
}

import { LRUCache } from 'lru-cache';
import { flatten } from '../util/own-text.js';
import type { Charge, ChargeVerdict, Verdict } from '../stores/store.js';
import { sameCharges } from '../stores/charge.js';

interface Denial {
  readonly charges: readonly Charge[];
  readonly verdict: Verdict;
  /** By the monotonic clock, milliseconds: when the question was sent. */
  readonly sentAt: number;
  /** By the monotonic clock, milliseconds: when the answer came in, and until when it is certain. */
  readonly receivedAt: number;
  readonly certainUntil: number;
}

/** Requests remembered at most: those of clients that go on asking. */
const MAX_REFUSALS = 50_000;
/** Resets known one by one; beyond it all that was sent before is asked again. */
const MAX_RESETS = 10_000;
/** And their charges: a request can have 32. */
const MAX_CHARGES = 100_000;
/** This process's clock and the store's run apart by less than what is missing to 1. */
const DRIFT = 0.998;

/**
 * The denials that are certain, to be answered without asking again. Once a store has refused, no charge by anybody makes
 * the same question pass before its `retryAfter`; resets, give-backs, lost states and stepping clocks can, which is why a
 * refusal is remembered for a second at most. A client far over its limit then costs its own process a look-up, and Redis
 * nothing.
 *
 * The verdict is the store's: `remaining`, and what a policy that did not refuse would say, as of the question; `resetAfter`
 * and `retryAfter` counting down from the answer.
 */
export class DenialCache {
  /** By the key of a charge that was refused. */
  private readonly denials = new LRUCache<string, Denial>({
    max: MAX_REFUSALS,
    maxSize: MAX_CHARGES,
    sizeCalculation: ({ charges }) => charges.length,
  });
  /** When each key was reset last, by the monotonic clock: what was sent before says nothing about it any more. */
  private readonly resets = new Map<string, number>();
  /** The same for all keys. */
  private resetAt = -Infinity;

  /**
   * @param maxMs milliseconds that a refusal is remembered at most
   * @param monotonicMs milliseconds of a clock that never steps
   */
  constructor(
    private readonly maxMs: number,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  /** What the store is certain to say to a request, or undefined. */
  find(charges: readonly Charge[]): Verdict | undefined {
    return this.findSent(charges)?.verdict;
  }

  /** The same, and when the store was asked: what is derived from it must not last longer. */
  findSent(charges: readonly Charge[]): Pick<Denial, 'verdict' | 'sentAt'> | undefined {
    for (let i = 0; i < charges.length; i++) {
      const refusal = this.denials.get(charges[i]!.key);
      // Of the same question only: cost 2 can be refused where cost 1 is not.
      if (refusal === undefined || !sameCharges(refusal.charges, charges)) continue;
      const now = this.monotonicMs();
      if (now < refusal.certainUntil && !this.isReset(refusal)) {
        return { verdict: countedDown(refusal, now), sentAt: refusal.sentAt };
      }
    }
    return undefined;
  }

  /**
   * Remembers what the store has just said, if it was a refusal.
   *
   * @param sentAt when it was asked, by the monotonic clock
   * @param under the key of one of the charges, of which one refusal is remembered at a time; default the first that refused
   */
  note(charges: readonly Charge[], verdict: Verdict, sentAt: number, under?: string): void {
    if (!verdict.allowed) this.remember(charges, verdict, sentAt, under);
  }

  /**
   * Keys were reset: no rejection that was sent before and depends on one of them is certain any more. It may be noted under
   * another key of its request, or be under way still.
   */
  forget(keys: readonly string[]): void {
    const now = this.monotonicMs();
    for (const key of keys) {
      this.denials.delete(key);
      this.resets.delete(key); // so that the map's order is that of the resets
      this.resets.set(key, now);
    }
    for (const [key, at] of this.resets) {
      // A rejection that was sent earlier than that is certain no more in any case.
      if (at + this.maxMs >= now && this.resets.size <= MAX_RESETS) break;
      if (at + this.maxMs >= now) this.resetAt = at;
      this.resets.delete(key);
    }
  }

  private isReset({ charges, sentAt }: Denial): boolean {
    if (sentAt <= this.resetAt) return true;
    if (this.resets.size === 0) return false;
    return charges.some(({ key }) => sentAt <= (this.resets.get(key) ?? -Infinity));
  }

  /** Until the first of the refusing policies could let it pass: so long they all refuse. */
  private remember(charges: readonly Charge[], verdict: Verdict, sentAt: number, under?: string): void {
    const refusing = verdict.charges.filter(({ allowed }) => !allowed);
    const certainMs = Math.min(this.maxMs, ...refusing.map(({ retryAfter }) => retryAfter / 1000)) * DRIFT;
    const key = under ?? charges[verdict.charges.findIndex(({ allowed }) => !allowed)]!.key;
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

function countedDown({ verdict, receivedAt }: Denial, now: number): Verdict {
  const elapsed = Math.floor((now - receivedAt) * 1000);
  const charges = verdict.charges.map((charge): ChargeVerdict => ({
    ...charge,
    resetAfter: Math.max(0, charge.resetAfter - elapsed),
    retryAfter: Math.max(0, charge.retryAfter - elapsed),
  }));
  return { allowed: false, at: verdict.at + elapsed, charges };
}

import { LRUCache } from 'lru-cache';
import type { Charge, ChargeVerdict, RateLimitStore, Verdict } from './store.js';
import { sameCharges } from './verdict.js';

interface Refusal {
  readonly charges: readonly Charge[];
  readonly verdict: Verdict;
  /** By the monotonic clock, milliseconds: when the answer came in, and until when it is certain. */
  readonly receivedAt: number;
  readonly certainUntil: number;
}

/** Requests remembered at most: those of clients that go on asking. */
const MAX_REFUSALS = 50_000;
/** This process's clock and the store's run apart by less than what is missing to 1. */
const DRIFT = 0.998;

/**
 * Answers a refusal that is certain without asking again. Once a store has refused, no charge by anybody makes the same
 * question pass before its `retryAfter`; resets, lost states and stepping clocks can, which is why a refusal is remembered
 * for a second at most. A client far over its limit then costs its own process a look-up, and Redis nothing.
 *
 * The verdict is the store's: `remaining` as of the question, `resetAfter` and `retryAfter` counting down from the answer.
 */
export class RememberedRefusals implements RateLimitStore {
  /** By the key of a charge that was refused. */
  private readonly refusals = new LRUCache<string, Refusal>({ max: MAX_REFUSALS });

  /**
   * @param maxMs milliseconds that a refusal is remembered at most
   * @param monotonicMs milliseconds of a clock that never steps
   */
  constructor(
    private readonly store: RateLimitStore,
    private readonly maxMs: number,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    const now = this.monotonicMs();
    for (const { key } of charges) {
      // Of the same question only: cost 2 can be refused where cost 1 is not.
      const refusal = this.refusals.get(key);
      if (refusal !== undefined && now < refusal.certainUntil && sameCharges(refusal.charges, charges)) {
        return countedDown(refusal, now);
      }
    }
    return this.ask(charges, now);
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.store.reset(keys);
    for (const key of keys) this.refusals.delete(key);
  }

  async connect(): Promise<void> {
    await this.store.connect?.();
  }

  async close(): Promise<void> {
    await this.store.close?.();
  }

  private ask(charges: readonly Charge[], sentAt: number): Verdict | Promise<Verdict> {
    const answer = this.store.consume(charges);
    return 'then' in answer
      ? answer.then((verdict) => this.noted(charges, verdict, sentAt))
      : this.noted(charges, answer, sentAt);
  }

  private noted(charges: readonly Charge[], verdict: Verdict, sentAt: number): Verdict {
    if (!verdict.allowed) this.remember(charges, verdict, sentAt);
    return verdict;
  }

  /** Until the first of the refusing policies could let it pass: so long every word of the verdict holds. */
  private remember(charges: readonly Charge[], verdict: Verdict, sentAt: number): void {
    const refusing = verdict.charges.filter(({ allowed }) => !allowed);
    const certainMs = Math.min(this.maxMs, ...refusing.map(({ retryAfter }) => retryAfter / 1000)) * DRIFT;
    const { key } = charges[verdict.charges.findIndex(({ allowed }) => !allowed)]!;
    this.refusals.set(key, { charges, verdict, receivedAt: this.monotonicMs(), certainUntil: sentAt + certainMs });
  }
}

function countedDown({ verdict, receivedAt }: Refusal, now: number): Verdict {
  const elapsed = Math.floor((now - receivedAt) * 1000);
  const charges = verdict.charges.map((charge): ChargeVerdict => ({
    ...charge,
    resetAfter: Math.max(0, charge.resetAfter - elapsed),
    retryAfter: Math.max(0, charge.retryAfter - elapsed),
  }));
  return { allowed: false, at: verdict.at + elapsed, charges };
}

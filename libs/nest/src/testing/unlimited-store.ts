import type { Charge, ChargeVerdict, Verdict } from 'floodgate/internal';
import type { RateLimitStore } from 'floodgate';

/** Lets every request pass, counts nothing and connects to nothing. */
export class UnlimitedStore implements RateLimitStore {
  readonly supports = ['shadow', 'block', 'headroom'] as const;
  consume(charges: readonly Charge[]): Verdict {
    const verdicts = charges.map(({ algorithm }): ChargeVerdict => ({
      allowed: true,
      remaining: algorithm.limit,
      resetAfter: 0,
      retryAfter: 0,
      delay: 0,
    }));
    return { allowed: true, at: Date.now() * 1000, charges: verdicts };
  }

  reset(): void {
    // Nothing is counted.
  }
}

import type { Decision } from '../../policy/decision.js';
import type { HeldLease } from './leases.js';

/**
 * A place that code holds under the limits of concurrency policies. It is renewed until it is released, or until the process
 * ends.
 *
 * @example
 * ```ts
 * const lease = await limiter.acquire('exports', user);
 * if (!lease.allowed) throw new TooManyExports();
 * try {
 *   await writeExport();
 * } finally {
 *   lease.release();
 * }
 * ```
 */
export class Lease {
  readonly #held: readonly HeldLease[];

  /** @internal `RateLimiter.acquire` makes it. */
  constructor(
    readonly decision: Decision,
    held: readonly HeldLease[],
  ) {
    this.#held = held;
    for (const lease of held) lease.keep();
  }

  /** Whether it is held. False is a rejection, which needs no release. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Frees the place. Further calls do nothing. What other policies charged stays charged. */
  release(): void {
    for (const lease of this.#held) lease.release();
  }
}

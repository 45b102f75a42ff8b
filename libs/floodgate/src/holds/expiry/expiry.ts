import { RateLimitConfigError } from '../../util/config-error.js';
import type { Expiry } from '../../policy/expiry.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';

/**
 * Checks that an expiry charges nothing: after a crash its reason would be unknown.
 *
 * @param where how the error begins
 * @throws {RateLimitConfigError} when it would
 */
export function checkExpiryCost({ finalCost = 0 }: Expiry, charges: readonly PolicyCharge[], where: string): void {
  for (const { cost, policy } of charges) {
    if (finalCost <= cost) continue;
    throw new RateLimitConfigError(
      where,
      `atExpiry must be at most the reserved cost, which is ${cost} for policy '${policy.name}', got ${finalCost}: reserve more`,
    );
  }
}

import type { Decision } from '../policy/decision.js';
import type { Judgement } from '../charges/judgement.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import { RateLimitConfigError } from '../util/config-error.js';

/** The policy that rejects a call for longest, and how long that is. */
export interface Blocker {
  readonly charge: PolicyCharge;
  /** Milliseconds; Infinity: it never passes, as far as the decision knows. */
  readonly ms: number;
  /** Whether the call passes earlier only if something is refunded, released, reset or changed by an operator. */
  readonly isCertain: boolean;
}

/** A decision that overrides have made costs nothing, and operators may change it at any time. */
const OVERRIDE_MS = 1000;

/**
 * What a rejected call waits for.
 *
 * @throws {RateLimitConfigError} when it can never pass
 */
export function blockerOf(charges: readonly PolicyCharge[], judgement: Judgement): Blocker {
  const { decidedBy, retryAfterMs } = judgement.decision;
  let blocker: Blocker | undefined;
  for (let i = 0; i < charges.length; i++) {
    const charge = charges[i]!;
    if (charge.shadow) continue;
    const judged = judgement.at(i);
    if (judged === undefined || judged.verdict.allowed) continue;
    const { retryAfter, estimated } = judged.verdict;
    const ms = retryAfter / 1000;
    if (ms === Infinity && decidedBy === 'store') throw neverFits(charge, judged.charge);
    if (blocker !== undefined && blocker.ms >= ms) continue;
    blocker = { charge, ms, isCertain: estimated !== true && (ms < Infinity || decidedBy === 'override') };
  }
  return blocker ?? { charge: charges[0]!, ms: retryAfterMs ?? Infinity, isCertain: false };
}

/** Milliseconds until the next question. */
export function napOf({ ms }: Blocker, decidedBy: Decision['decidedBy']): number {
  return decidedBy === 'store' && ms !== Infinity ? ms : Math.min(ms, OVERRIDE_MS);
}

/** The error of a cost that is larger than the limit. */
export function neverFits({ policy, cost }: PolicyCharge, { algorithm }: PolicyCharge): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimiter.schedule',
    `cost ${cost} never fits policy '${policy.name}', which lets ${algorithm.maxCost} pass at most`,
    'FG_CALL_NEVER_FITS',
  );
}

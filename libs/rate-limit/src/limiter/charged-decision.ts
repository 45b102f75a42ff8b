import type { Decision, PolicyDecision } from '../policy/decision.js';
import { type ChargeReceipt, receiptsOf } from '../stores/receipt.js';
import type { ChargeVerdict, Verdict } from '../stores/store.js';
import type { PolicyCharge } from './policy-charge.js';

const MICROSECONDS = 1000;

/** An allowed decision of the store, which knows what it charged in the store's own microseconds. */
class ChargedDecision implements Decision {
  readonly allowed = true;
  readonly decidedBy = 'store';
  // Private by the language: callers compare and print decisions.
  readonly #charges: readonly PolicyCharge[];
  readonly #verdict: Verdict;

  constructor(
    readonly policies: readonly PolicyDecision[],
    readonly retryAfterMs: number | null,
    readonly delayMs: number,
    readonly decidedAtMs: number,
    charges: readonly PolicyCharge[],
    verdict: Verdict,
  ) {
    this.#charges = charges;
    this.#verdict = verdict;
  }

  static receipts(decision: Decision): ChargeReceipt[] {
    return #charges in decision ? receiptsOf(decision.#charges, decision.#verdict) : [];
  }
}

/** What a decision of the store charged; nothing for a rejection, and for a decision of the fallback. */
export function receiptsOfDecision(decision: Decision): ChargeReceipt[] {
  return ChargedDecision.receipts(decision);
}

/** What a store's verdict means for a request. */
export function decisionOf(
  charges: readonly PolicyCharge[],
  verdict: Verdict,
  decidedBy: Decision['decidedBy'] = 'store',
): Decision {
  const { allowed, at, charges: verdicts } = verdict;
  const policies = [policyDecision(charges[0]!, verdicts[0]!)];
  let { retryAfter, delay } = verdicts[0]!;
  for (let i = 1; i < verdicts.length; i++) {
    const one = verdicts[i]!;
    policies.push(policyDecision(charges[i]!, one));
    retryAfter = Math.max(retryAfter, one.retryAfter);
    delay = Math.max(delay, one.delay);
  }
  const retryAfterMs = milliseconds(retryAfter);
  const decidedAtMs = at / MICROSECONDS;
  if (allowed && decidedBy === 'store') {
    return new ChargedDecision(policies, retryAfterMs, delay / MICROSECONDS, decidedAtMs, charges, verdict);
  }
  return { allowed, decidedBy, policies, retryAfterMs, delayMs: allowed ? delay / MICROSECONDS : 0, decidedAtMs };
}

function policyDecision({ policy, algorithm }: PolicyCharge, verdict: ChargeVerdict): PolicyDecision {
  return {
    policy: policy.name,
    algorithm: algorithm.name,
    limit: algorithm.limit,
    allowed: verdict.allowed,
    remaining: verdict.remaining,
    resetAfterMs: verdict.resetAfter / MICROSECONDS,
    retryAfterMs: milliseconds(verdict.retryAfter),
    delayMs: verdict.delay / MICROSECONDS,
  };
}

function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}

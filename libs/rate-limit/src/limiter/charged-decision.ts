import type { Decision, PolicyDecision } from '../policy/decision.js';
import { type ChargeReceipt, receiptsOf } from '../stores/receipt.js';
import type { ChargeVerdict, Verdict } from '../stores/store.js';
import type { PolicyCharge } from './policy-charge.js';

const MICROSECONDS = 1000;

/** A decision that knows what it charged, in the store's own microseconds. */
export class ChargedDecision implements Decision {
  readonly allowed: boolean;
  readonly decidedBy: Decision['decidedBy'];
  readonly policies: readonly PolicyDecision[];
  readonly retryAfterMs: number | null;
  readonly delayMs: number;
  readonly decidedAtMs: number;
  // Private by the language: callers compare and print decisions.
  readonly #charges: readonly PolicyCharge[];
  readonly #verdict: Verdict;

  constructor(charges: readonly PolicyCharge[], verdict: Verdict, decidedBy: Decision['decidedBy'] = 'store') {
    const { allowed, at, charges: verdicts } = verdict;
    const policies = [policyDecision(charges[0]!, verdicts[0]!)];
    let { retryAfter, delay } = verdicts[0]!;
    for (let i = 1; i < verdicts.length; i++) {
      const one = verdicts[i]!;
      policies.push(policyDecision(charges[i]!, one));
      retryAfter = Math.max(retryAfter, one.retryAfter);
      delay = Math.max(delay, one.delay);
    }
    this.allowed = allowed;
    this.decidedBy = decidedBy;
    this.policies = policies;
    this.retryAfterMs = milliseconds(retryAfter);
    this.delayMs = allowed ? delay / MICROSECONDS : 0;
    this.decidedAtMs = at / MICROSECONDS;
    this.#charges = charges;
    this.#verdict = verdict;
  }

  /** What the store charged for a decision; nothing for a rejection, and for a decision of the fallback. */
  static receipts(decision: Decision): ChargeReceipt[] {
    if (!(#charges in decision) || !decision.allowed || decision.decidedBy !== 'store') return [];
    return receiptsOf(decision.#charges, decision.#verdict);
  }
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

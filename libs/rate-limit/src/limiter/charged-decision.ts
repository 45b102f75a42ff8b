import type { Decision, PolicyDecision } from '../policy/decision.js';
import { type ChargeReceipt, receiptsOf } from '../stores/receipt.js';
import type { ChargeVerdict, Verdict } from '../stores/store.js';
import type { PolicyCharge } from './policy-charge.js';

const MICROSECONDS = 1000;

/** What one policy said, with the charge that it said it to. */
class JudgedPolicy implements PolicyDecision {
  // Private by the language: callers compare and print decisions.
  readonly #charge: PolicyCharge;
  // Only where it is true, so that other decisions stay as they are.
  declare readonly blocked?: true;

  constructor(
    readonly policy: string,
    readonly algorithm: PolicyDecision['algorithm'],
    readonly limit: number,
    readonly allowed: boolean,
    readonly remaining: number,
    readonly resetAfterMs: number,
    readonly retryAfterMs: number | null,
    readonly delayMs: number,
    charge: PolicyCharge,
    blocked: boolean | undefined,
  ) {
    this.#charge = charge;
    if (blocked === true) this.blocked = true;
  }

  static charge(decision: PolicyDecision): PolicyCharge | undefined {
    return #charge in decision ? decision.#charge : undefined;
  }
}

/**
 * The charge that a policy's decision is about: it has the policy's numbers, which the decision leaves out. Undefined for a
 * decision that an application has put together itself.
 */
export function chargeOfDecision(decision: PolicyDecision): PolicyCharge | undefined {
  return JudgedPolicy.charge(decision);
}

/** The same decision, some time later. */
export function countedDown(decision: PolicyDecision, resetAfterMs: number): PolicyDecision {
  const { policy, algorithm, limit, allowed, remaining, retryAfterMs, delayMs, blocked } = decision;
  const charge = JudgedPolicy.charge(decision);
  if (charge === undefined) return { ...decision, resetAfterMs };
  return new JudgedPolicy(
    policy,
    algorithm,
    limit,
    allowed,
    remaining,
    resetAfterMs,
    retryAfterMs,
    delayMs,
    charge,
    blocked,
  );
}

/** An allowed decision of the store, which knows what it charged in the store's own microseconds. */
class ChargedDecision implements Decision {
  readonly allowed = true;
  readonly decidedBy = 'store';
  // Private by the language: callers compare and print decisions.
  readonly #charges: readonly PolicyCharge[];
  readonly #verdict: Verdict;
  // Only where there is one.
  declare readonly shadow?: readonly PolicyDecision[];

  constructor(
    readonly policies: readonly PolicyDecision[],
    readonly retryAfterMs: number | null,
    readonly delayMs: number,
    readonly decidedAtMs: number,
    charges: readonly PolicyCharge[],
    verdict: Verdict,
    shadow: readonly PolicyDecision[] | undefined,
  ) {
    this.#charges = charges;
    this.#verdict = verdict;
    if (shadow !== undefined) this.shadow = shadow;
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
  let shadow: PolicyDecision[] | undefined;
  let policies: PolicyDecision[] | undefined;
  let retryAfter = 0;
  let delay = 0;
  for (let i = 0; i < verdicts.length; i++) {
    const one = verdicts[i]!;
    const said = policyDecision(charges[i]!, one);
    if (charges[i]!.shadow) {
      if (shadow === undefined) shadow = [said];
      else shadow.push(said);
      continue;
    }
    // A literal with one element takes less than an empty array that grows.
    if (policies === undefined) policies = [said];
    else policies.push(said);
    retryAfter = Math.max(retryAfter, one.retryAfter);
    delay = Math.max(delay, one.delay);
  }
  policies ??= [];
  const retryAfterMs = milliseconds(retryAfter);
  const decidedAtMs = at / MICROSECONDS;
  if (allowed && decidedBy === 'store') {
    return new ChargedDecision(policies, retryAfterMs, delay / MICROSECONDS, decidedAtMs, charges, verdict, shadow);
  }
  const delayMs = allowed ? delay / MICROSECONDS : 0;
  const decision = { allowed, decidedBy, policies, retryAfterMs, delayMs, decidedAtMs };
  return shadow === undefined ? decision : { ...decision, shadow };
}

function policyDecision(charge: PolicyCharge, verdict: ChargeVerdict): PolicyDecision {
  const { policy, algorithm } = charge;
  return new JudgedPolicy(
    policy.name,
    algorithm.name,
    algorithm.limit,
    verdict.allowed,
    verdict.remaining,
    verdict.resetAfter / MICROSECONDS,
    milliseconds(verdict.retryAfter),
    verdict.delay / MICROSECONDS,
    charge,
    verdict.blocked,
  );
}

function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}

import type { Decision, PolicyDecision } from '../policy/decision.js';
import { takes } from '../stores/charge.js';
import { type ChargeReceipt, receiptsOf } from '../stores/receipt.js';
import type { ChargeVerdict, Verdict } from '../stores/store.js';
import type { PolicyCharge } from './policy-charge.js';

const MICROSECONDS = 1000;
/** Microseconds after which a request may ask again that found no free lease. */
const LEASE_RETRY = 1_000_000;

/** What one policy said, with the charge that it said it to. */
class JudgedPolicy implements PolicyDecision {
  // Private by the language: callers compare and print decisions.
  readonly #charge: PolicyCharge;

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
  ) {
    this.#charge = charge;
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
  const { policy, algorithm, limit, allowed, remaining, retryAfterMs, delayMs } = decision;
  const charge = JudgedPolicy.charge(decision);
  if (charge === undefined) return { ...decision, resetAfterMs };
  return new JudgedPolicy(policy, algorithm, limit, allowed, remaining, resetAfterMs, retryAfterMs, delayMs, charge);
}

/** An allowed decision of the store, which knows what it charged in the store's own microseconds. */
class ChargedDecision implements Decision {
  readonly allowed = true;
  readonly decidedBy: Decision['decidedBy'] = 'store';
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
    const isOfStore = #charges in decision && decision.decidedBy === 'store';
    return isOfStore ? receiptsOf(decision.#charges, decision.#verdict) : [];
  }

  static leases(decision: Decision): LeaseReceipt[] {
    if (!(#charges in decision)) return [];
    const charges = decision.#charges.filter(isLease);
    const verdicts = decision.#verdict.charges.filter((_, i) => isLease(decision.#charges[i]!));
    const receipts = receiptsOf(charges, { ...decision.#verdict, charges: verdicts });
    return charges.map((charge, i) => ({ charge, receipt: receipts[i]! }));
  }
}

/** An allowed decision of this process that has leases. */
class LocalLeases extends ChargedDecision {
  override readonly decidedBy = 'local';
}

/** A lease that a decision took. */
export interface LeaseReceipt {
  readonly charge: PolicyCharge;
  readonly receipt: ChargeReceipt;
}

/** The leases that a decision took. */
export function leasesOfDecision(decision: Decision): LeaseReceipt[] {
  return ChargedDecision.leases(decision);
}

function isLease(charge: PolicyCharge): boolean {
  return charge.algorithm.lease !== undefined && takes(charge);
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
  let retryAfter = retryAfterOf(charges[0]!, verdicts[0]!);
  let { delay } = verdicts[0]!;
  for (let i = 1; i < verdicts.length; i++) {
    const one = verdicts[i]!;
    policies.push(policyDecision(charges[i]!, one));
    retryAfter = Math.max(retryAfter, retryAfterOf(charges[i]!, one));
    delay = Math.max(delay, one.delay);
  }
  const retryAfterMs = milliseconds(retryAfter);
  const decidedAtMs = at / MICROSECONDS;
  const isLocal = decidedBy === 'local' && charges.some(isLease);
  if (allowed && (decidedBy === 'store' || isLocal)) {
    const Charged = isLocal ? LocalLeases : ChargedDecision;
    return new Charged(policies, retryAfterMs, delay / MICROSECONDS, decidedAtMs, charges, verdict);
  }
  return { allowed, decidedBy, policies, retryAfterMs, delayMs: allowed ? delay / MICROSECONDS : 0, decidedAtMs };
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
    milliseconds(retryAfterOf(charge, verdict)),
    verdict.delay / MICROSECONDS,
    charge,
  );
}

/**
 * A request that holds a lease may end at any time. The end of its lease, which the store knows, is when it frees its place if its
 * process has died: no client should wait for that.
 */
function retryAfterOf({ algorithm }: PolicyCharge, { retryAfter }: ChargeVerdict): number {
  return algorithm.lease === undefined || retryAfter === Infinity ? retryAfter : Math.min(retryAfter, LEASE_RETRY);
}

function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}

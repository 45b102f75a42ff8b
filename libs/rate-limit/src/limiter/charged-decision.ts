import type { Decision, PolicyDecision } from '../policy/decision.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { reserves, takes } from '../stores/charge.js';
import type { PlainVerdict } from '../stores/judge.js';
import { type ChargeReceipt, receiptsOf } from '../stores/receipt.js';
import type { ChargeVerdict, Verdict } from '../stores/store.js';
import type { BlockedCharge } from './overrides/active-overrides.js';
import { JudgedPolicy } from './judged-policy.js';
import type { PolicyCharge } from './policy-charge.js';

const MICROSECONDS = 1000;
/** Microseconds after which a request may ask again that found no free lease. */
const LEASE_RETRY = 1_000_000;

/** An allowed decision of the store, which knows what it charged in the store's own microseconds. */
class ChargedDecision implements Decision {
  readonly allowed = true;
  readonly decidedBy: Decision['decidedBy'] = 'store';
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
    const isOfStore = #charges in decision && decision.decidedBy === 'store';
    return isOfStore ? receiptsOf(decision.#charges, decision.#verdict) : [];
  }

  static reserved(decision: Decision): ReservedReceipts {
    if (!(#charges in decision)) return { charges: [], receipts: [] };
    const verdict = decision.#verdict;
    // Of an allowed request, only a shadow that did not fit is not charged.
    const places = [...decision.#charges.keys()].filter((i) => verdict.charges[i]!.allowed);
    return {
      charges: places.map((i) => decision.#charges[i]!),
      receipts: places.map((i) => receiptAt(decision.#charges, verdict, i)),
    };
  }

  static leases(decision: Decision): LeaseReceipt[] {
    if (!(#charges in decision)) return [];
    const charges = decision.#charges;
    return charges.flatMap((charge, i) =>
      isLease(charge) && decision.#verdict.charges[i]!.allowed
        ? [{ charge, receipt: receiptAt(charges, decision.#verdict, i) }]
        : [],
    );
  }
}

/** An allowed decision of this process that is settled or released later. */
class LocalCharges extends ChargedDecision {
  override readonly decidedBy = 'local';
}

function receiptAt(charges: readonly PolicyCharge[], { at, charges: verdicts }: Verdict, i: number): ChargeReceipt {
  const { key, algorithm, cost } = charges[i]!;
  const { receipt, resetAfter } = verdicts[i]!;
  return receipt ?? { key, algorithm, cost, at, resetAt: at + resetAfter };
}

/** The charges of a reservation, and the receipt of each. */
export interface ReservedReceipts {
  readonly charges: readonly PolicyCharge[];
  readonly receipts: readonly ChargeReceipt[];
}

/** What a reservation charged; nothing for a rejection, and for a decision by `onStoreFailure: 'open'`. */
export function reservedBy(decision: Decision): ReservedReceipts {
  return ChargedDecision.reserved(decision);
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
    retryAfter = Math.max(retryAfter, retryAfterOf(charges[i]!, one));
    delay = Math.max(delay, one.delay);
  }
  policies ??= [];
  const retryAfterMs = milliseconds(retryAfter);
  const decidedAtMs = at / MICROSECONDS;
  const isLocal = decidedBy === 'local' && charges.some((charge) => reserves(charge) || isLease(charge));
  if (allowed && (decidedBy === 'store' || isLocal)) {
    const Charged = isLocal ? LocalCharges : ChargedDecision;
    return new Charged(policies, retryAfterMs, delay / MICROSECONDS, decidedAtMs, charges, verdict, shadow);
  }
  const delayMs = allowed ? delay / MICROSECONDS : 0;
  const decision = { allowed, decidedBy, policies, retryAfterMs, delayMs, decidedAtMs };
  return shadow === undefined ? decision : { ...decision, shadow };
}

/**
 * The same for one plain charge, by a store in this process. The charge itself is not read: with many clients its memory is far, and
 * that of its policy is near.
 *
 * @param charges the charge alone
 */
export function decisionOfPlain(
  charges: readonly PolicyCharge[],
  charge: PolicyCharge,
  { name, algorithm, plan }: BoundPolicy,
  override: number | undefined,
  verdict: PlainVerdict,
): Decision {
  const { allowed, remaining } = verdict;
  const retryAfterMs = milliseconds(verdict.retryAfter);
  const delayMs = verdict.delay / MICROSECONDS;
  const said = new JudgedPolicy(
    name,
    algorithm.name,
    algorithm.limit,
    allowed,
    remaining,
    verdict.resetAfter / MICROSECONDS,
    retryAfterMs,
    delayMs,
    charge,
    override,
    plan,
    undefined,
  );
  const decidedAtMs = verdict.at / MICROSECONDS;
  if (allowed) return new ChargedDecision([said], retryAfterMs, delayMs, decidedAtMs, charges, verdict, undefined);
  return { allowed, decidedBy: 'store', policies: [said], retryAfterMs, delayMs, decidedAtMs };
}

/**
 * What a request is told that overrides decide without the store.
 *
 * @param blocked the charges that are rejected; none: the client is exempt from all policies of the request
 * @param nowMs the store's clock
 */
export function decisionOfOverrides(blocked: readonly BlockedCharge[], nowMs: number): Decision {
  const policies = blocked.map(({ charge, endsInMs }) => {
    const { policy, algorithm } = charge;
    const { name, limit } = algorithm;
    return new JudgedPolicy(
      policy.name,
      name,
      limit,
      false,
      0,
      endsInMs ?? 0,
      endsInMs,
      0,
      charge,
      charge.override,
      policy.plan,
      undefined,
    );
  });
  const waits = blocked.map(({ endsInMs }) => endsInMs ?? Infinity);
  const longest = Math.max(0, ...waits);
  return {
    allowed: blocked.length === 0,
    decidedBy: 'override',
    policies,
    retryAfterMs: longest === Infinity ? null : longest,
    delayMs: 0,
    decidedAtMs: nowMs,
  };
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
    charge.override,
    policy.plan,
    verdict.blockedFor === undefined ? undefined : verdict.blockedFor / MICROSECONDS,
    verdict.estimated,
  );
}

/**
 * A request that holds a lease may end at any time. The end of its lease, which the store knows, is when it frees its place if its
 * process has died: no client should wait for that.
 */
function retryAfterOf({ algorithm }: PolicyCharge, { retryAfter, blockedFor = 0 }: ChargeVerdict): number {
  if (algorithm.lease === undefined || retryAfter === Infinity) return retryAfter;
  // A block ends when it ends, whatever is released.
  return Math.max(blockedFor, Math.min(retryAfter, LEASE_RETRY));
}

function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}

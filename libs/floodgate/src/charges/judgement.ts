import type { Decision, PolicyDecision } from '../policy/decision.js';
import { reserves, takes } from '../stores/charge.js';
import { resetAtOf } from '../stores/receipt.js';
import type { ChargeReceipt, ChargeVerdict } from '../stores/store.js';
import type { ChargeKeeper } from './charge-keeper.js';
import { JudgedPolicy, MICROSECONDS, milliseconds } from './judged-policy.js';
import type { PolicyCharge } from './policy-charge.js';
import { later, type LayerVerdict } from './layer-verdict.js';

/** The longest `retryAfter`, in microseconds, while a refund or a release may let the request pass at any time. */
export const ESTIMATED_RETRY = 1_000_000;

/** Proof of a charge that was made: what refunds, settlements and leases begin with. */
export interface Receipt {
  /** The index of the charge in its request. */
  readonly index: number;
  /** The charge, with the numbers that decided. */
  readonly charge: PolicyCharge;
  readonly proof: ChargeReceipt;
  /** The store, or the process, that made the charge. */
  readonly keeper: ChargeKeeper;
}

/** A charge, and the policy's verdict on it. */
export interface JudgedCharge {
  /** The charge, with the numbers that decided. */
  readonly charge: PolicyCharge;
  readonly verdict: ChargeVerdict;
}

/** A decision with its receipts. */
export class Judgement {
  /**
   * @param charges those of the request, with the numbers that decided
   * @param keeper where the charges were made; undefined: nowhere
   */
  constructor(
    readonly decision: Decision,
    readonly charges: readonly PolicyCharge[],
    private readonly verdict: LayerVerdict,
    private readonly keeper: ChargeKeeper | undefined,
  ) {}

  /** Makes the judgement of a request from its verdict. */
  static of(charges: readonly PolicyCharge[], verdict: LayerVerdict, keeper: ChargeKeeper | undefined): Judgement {
    const { asked = charges } = verdict;
    return new Judgement(decisionOf(asked, verdict), asked, verdict, keeper);
  }

  /** The receipts, made on first use: most requests are charged for good. */
  get receipts(): readonly Receipt[] {
    const { charges, keeper } = this;
    const { allowed, at, charges: verdicts } = this.verdict;
    if (!allowed || keeper === undefined) return [];
    const receipts: Receipt[] = [];
    for (let index = 0; index < charges.length; index++) {
      const charge = charges[index]!;
      const verdict = verdicts[index]!;
      // An allowed request is charged to all its policies, except to shadows that it does not fit.
      if (verdict.unasked !== undefined || !verdict.allowed || !(takes(charge) || reserves(charge))) continue;
      const { key, algorithm, cost } = charge;
      const proof = verdict.receipt ?? {
        key,
        algorithm,
        cost,
        at,
        resetAt: resetAtOf(algorithm, at, verdict.resetAfter),
        refundMarker: undefined,
      };
      receipts.push({ index, charge, proof, keeper });
    }
    return receipts;
  }

  /** The instant of the decision. */
  get decidedAt(): number {
    return this.verdict.at;
  }

  /** The verdict on the charge at an index; undefined if the policy was not asked. */
  at(index: number): JudgedCharge | undefined {
    const charge = this.charges[index]!;
    const verdict = this.verdict.charges[index]!;
    return verdict.unasked === undefined
      ? { charge, verdict: asSeen(charge, verdict, this.decision.decidedBy) }
      : undefined;
  }

  /** The judgement, with earlier decisions on other states counted down to now. */
  after(earlier: Judgement): Judgement {
    const { charges, decision, verdict: own } = this;
    const elapsed = Math.max(0, own.at - earlier.verdict.at);
    const asked = new Set(charges.flatMap(({ key, shadow }, i) => (shadow || this.at(i) === undefined ? [] : key)));
    const before = earlier.charges.flatMap((charge, i): JudgedCharge[] => {
      const judged = charge.shadow || asked.has(charge.key) ? undefined : earlier.at(i);
      return judged === undefined ? [] : [{ charge, verdict: later(judged.verdict, elapsed) }];
    });
    const policies = [
      ...before.map(({ charge, verdict }) => policyDecision(charge, verdict, earlier.decision.decidedBy)),
      ...decision.policies,
    ];
    return new Judgement(
      { ...decision, policies },
      [...before.map(({ charge }) => charge), ...charges],
      { ...own, charges: [...before.map(({ verdict }) => verdict), ...own.charges] },
      undefined,
    );
  }
}

/** Makes the decision on a request from its verdict. */
export function decisionOf(charges: readonly PolicyCharge[], given: LayerVerdict): Decision {
  const { allowed, at, charges: verdicts } = given;
  const decidedBy = decidedByOf(given);
  let shadow: PolicyDecision[] | undefined;
  let policies: PolicyDecision[] | undefined;
  let retryAfter = 0;
  let delay = 0;
  for (let i = 0; i < verdicts.length; i++) {
    const one = verdicts[i]!;
    if (one.unasked !== undefined) continue;
    const charge = charges[i]!;
    const verdict = asSeen(charge, one, decidedBy);
    const judged = new JudgedPolicy(charge, verdict);
    if (charge.shadow) {
      if (shadow === undefined) shadow = [judged];
      else shadow.push(judged);
      continue;
    }
    // A literal with one element takes less than an empty array that grows.
    if (policies === undefined) policies = [judged];
    else policies.push(judged);
    retryAfter = Math.max(retryAfter, verdict.retryAfter);
    delay = Math.max(delay, verdict.delay);
  }
  // Each object shape is written out, because every decision makes one.
  const retryAfterMs = milliseconds(retryAfter);
  const delayMs = allowed ? delay / MICROSECONDS : 0;
  const decidedAtMs = at / MICROSECONDS;
  return shadow === undefined
    ? { allowed, decidedBy, policies: policies ?? [], retryAfterMs, delayMs, decidedAtMs }
    : { allowed, decidedBy, policies: policies ?? [], retryAfterMs, delayMs, decidedAtMs, shadow };
}

/** Makes a policy's decision from its verdict. */
export function policyDecision(
  charge: PolicyCharge,
  given: ChargeVerdict,
  decidedBy: Decision['decidedBy'],
): PolicyDecision {
  return new JudgedPolicy(charge, asSeen(charge, given, decidedBy));
}

function decidedByOf({ source = 'store' }: LayerVerdict): Decision['decidedBy'] {
  return source === 'denial-cache' || source === 'closed' ? 'store' : source;
}

/**
 * The verdict as the client sees it. A request that holds a lease may end at any time. The store only knows when the lease
 * expires, which matters if its process has died: no client should wait that long.
 */
function asSeen(charge: PolicyCharge, verdict: ChargeVerdict, decidedBy: Decision['decidedBy']): ChargeVerdict {
  if (charge.algorithm.lease === undefined) return verdict;
  const { retryAfter, blockedFor = 0 } = verdict;
  // A release does not shorten a block or an override.
  const estimate = Math.max(blockedFor, Math.min(retryAfter, ESTIMATED_RETRY));
  if (retryAfter === Infinity || decidedBy === 'override' || estimate === retryAfter) return verdict;
  return { ...verdict, retryAfter: estimate, estimated: true };
}

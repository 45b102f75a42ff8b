import type { Decision, PolicyDecision } from '../policy/decision.js';
import { reserves, takes } from '../stores/charge.js';
import type { ChargeReceipt, ChargeVerdict } from '../stores/store.js';
import type { ChargeKeeper } from './charge-keeper.js';
import { JudgedPolicy } from './judged-policy.js';
import { ESTIMATED_RETRY } from './settling/open-charges.js';
import type { PolicyCharge } from './policy-charge.js';
import { later, placesAmong, type LayerVerdict, UNASKED, wasCounted } from './layer-verdict.js';

export const MICROSECONDS = 1000;

/** Proof of a charge that was made: what refunds, settlements and leases begin with. */
export interface Receipt {
  /** The charge's place among those of its request. */
  readonly index: number;
  /** With the numbers that decided. */
  readonly charge: PolicyCharge;
  readonly proof: ChargeReceipt;
  /** Where it was made. */
  readonly keeper: ChargeKeeper;
}

/** What one policy was asked, and what it said. */
export interface JudgedCharge {
  /** With the numbers that decided. */
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

  /** What a verdict on the charges of a request means. */
  static of(charges: readonly PolicyCharge[], verdict: LayerVerdict, keeper: ChargeKeeper | undefined): Judgement {
    const { asked = charges } = verdict;
    return new Judgement(decisionOf(asked, verdict), asked, verdict, keeper);
  }

  /** Made when they are asked for: most requests are charged for good. */
  get receipts(): readonly Receipt[] {
    const { charges, keeper } = this;
    const { allowed, at, charges: verdicts } = this.verdict;
    if (!allowed || keeper === undefined) return [];
    const receipts: Receipt[] = [];
    for (let index = 0; index < charges.length; index++) {
      const charge = charges[index]!;
      const verdict = verdicts[index]!;
      // Of an allowed request, only a shadow that did not fit is not charged.
      if (!wasCounted(verdict) || !verdict.allowed || !(takes(charge) || reserves(charge))) continue;
      const { key, algorithm, cost } = charge;
      const proof = verdict.receipt ?? {
        key,
        algorithm,
        cost,
        at,
        resetAt: at + verdict.resetAfter,
        refundMarker: undefined,
      };
      receipts.push({ index, charge, proof, keeper });
    }
    return receipts;
  }

  /** What the policy of a charge said, by the charge's place; undefined where it was not asked. */
  at(index: number): JudgedCharge | undefined {
    const charge = this.charges[index]!;
    const verdict = this.verdict.charges[index]!;
    return wasCounted(verdict) ? { charge, verdict: told(charge, verdict, this.decision.decidedBy) } : undefined;
  }

  /**
   * The judgement as one on all charges of a request, of which some were not asked.
   *
   * @param asked those that were asked, in their order
   */
  among(all: readonly PolicyCharge[], asked: readonly PolicyCharge[]): Judgement {
    const { charges, decision, verdict, keeper } = this;
    if (all.length === asked.length) return this;
    const places = placesAmong(all, asked);
    const verdicts = places.map((i) => (i < 0 ? UNASKED : verdict.charges[i]!));
    const own = all.map((charge, i) => charges[places[i]!] ?? charge);
    return new Judgement(decision, own, { ...verdict, charges: verdicts }, keeper);
  }

  /** A rejection with what another one, on the same charges, says of those that it rejects as well. */
  refinedBy(other: Judgement): Judgement {
    const { charges, verdict } = this;
    const verdicts = verdict.charges.map((own, i) => {
      const its = other.verdict.charges[i]!;
      return charges[i]!.shadow || its.allowed ? own : its;
    });
    return Judgement.of(charges, { ...verdict, charges: verdicts }, this.keeper);
  }

  /** The decision with what earlier ones have said of other states, some time later. */
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

/** What a verdict means for a request. */
export function decisionOf(charges: readonly PolicyCharge[], given: LayerVerdict): Decision {
  const { allowed, at, charges: verdicts } = given;
  const decidedBy = decidedByOf(given);
  let shadow: PolicyDecision[] | undefined;
  let policies: PolicyDecision[] | undefined;
  let retryAfter = 0;
  let delay = 0;
  for (let i = 0; i < verdicts.length; i++) {
    const one = verdicts[i]!;
    if (!wasCounted(one)) continue;
    const charge = charges[i]!;
    const verdict = told(charge, one, decidedBy);
    const said = saidOf(charge, verdict);
    if (charge.shadow) {
      if (shadow === undefined) shadow = [said];
      else shadow.push(said);
      continue;
    }
    // A literal with one element takes less than an empty array that grows.
    if (policies === undefined) policies = [said];
    else policies.push(said);
    retryAfter = Math.max(retryAfter, verdict.retryAfter);
    delay = Math.max(delay, verdict.delay);
  }
  // Each shape is written out: every decision makes one.
  const retryAfterMs = milliseconds(retryAfter);
  const delayMs = allowed ? delay / MICROSECONDS : 0;
  const decidedAtMs = at / MICROSECONDS;
  return shadow === undefined
    ? { allowed, decidedBy, policies: policies ?? [], retryAfterMs, delayMs, decidedAtMs }
    : { allowed, decidedBy, policies: policies ?? [], retryAfterMs, delayMs, decidedAtMs, shadow };
}

/** What a verdict means for its policy. */
export function policyDecision(
  charge: PolicyCharge,
  given: ChargeVerdict,
  decidedBy: Decision['decidedBy'],
): PolicyDecision {
  return saidOf(charge, told(charge, given, decidedBy));
}

function saidOf(charge: PolicyCharge, verdict: ChargeVerdict): JudgedPolicy {
  const { policy, algorithm } = charge;
  const { blockedFor } = verdict;
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
    charge.override,
    policy.plan,
    blockedFor === undefined ? undefined : blockedFor / MICROSECONDS,
    verdict.estimated,
  );
}

function decidedByOf({ source = 'store' }: LayerVerdict): Decision['decidedBy'] {
  return source === 'denial-cache' || source === 'closed' ? 'store' : source;
}

/**
 * The verdict as a client is told it. A request that holds a lease may end at any time. The end of its lease, which the store knows,
 * is when it frees its place if its process has died: no client should wait for that.
 */
function told({ algorithm }: PolicyCharge, verdict: ChargeVerdict, decidedBy: Decision['decidedBy']): ChargeVerdict {
  if (algorithm.lease === undefined) return verdict;
  const { retryAfter, blockedFor = 0 } = verdict;
  // A block and an override end when they end, whatever is released.
  const estimate = Math.max(blockedFor, Math.min(retryAfter, ESTIMATED_RETRY));
  if (retryAfter === Infinity || decidedBy === 'override' || estimate === retryAfter) return verdict;
  return { ...verdict, retryAfter: estimate, estimated: true };
}

export function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}

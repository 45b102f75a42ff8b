import type { Decision } from '../../policy/decision.js';
import { sameMeaning } from '../../policy/state-claims.js';
import type { LimiterUnavailableError } from '../errors.js';
import { type JudgedCharge, policyDecision } from '../judgement.js';
import type { PolicyCharge } from '../policy-charge.js';
import { later } from '../layer-verdict.js';

/** What let a policy's charge pass, or rejected it. */
interface Outcome {
  /** With its whole cost. */
  readonly charge: PolicyCharge;
  readonly decidedBy: Decision['decidedBy'];
}

/** A charge that was made, or one that passed uncounted: `decidedBy` is `'open'` then. */
export interface Passed extends Outcome {
  /** The largest cost that ever fits, by the numbers of an override if there is one. */
  readonly maxCost: number;
  /** The wait for its departure slot, which each further call of the operation shares. */
  departure: Promise<void> | undefined;
}

interface Rejected extends Outcome {
  readonly judged: JudgedCharge;
  readonly decidedAtMs: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** A decision that neither the store nor the fallback made. */
interface Failed {
  readonly charges: readonly PolicyCharge[];
  readonly error: LimiterUnavailableError;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/**
 * What the policies have said to one request, so that each of them decides on it once. Equal keys alone do not prove the same
 * policy: a window's key does not carry its limit.
 */
export class ChargeHistory {
  /** By key. */
  private readonly passes = new Map<string, Passed[]>();
  // Most requests have neither.
  private rejections: Map<string, Rejected[]> | undefined;
  private failures: Failed[] | undefined;

  passed(charge: PolicyCharge): Passed | undefined {
    return this.passes.get(charge.key)?.find((passed) => answers(passed, charge));
  }

  notePassed(charge: PolicyCharge, decidedBy: Decision['decidedBy'], { maxCost } = charge.policy.algorithm): void {
    note(this.passes, { charge, decidedBy, maxCost, departure: this.passed(charge)?.departure });
  }

  noteRejected(charge: PolicyCharge, judged: JudgedCharge, { decidedBy, decidedAtMs }: Decision): void {
    note((this.rejections ??= new Map()), { charge, decidedBy, judged, decidedAtMs, at: performance.now() });
  }

  noteFailed(charges: readonly PolicyCharge[], error: LimiterUnavailableError): void {
    (this.failures ??= []).push({ charges, error, at: performance.now() });
  }

  /**
   * The rejection that the charges are certain to get, by what the same policies have rejected for the same or a smaller cost.
   * It lasts until its `retryAfterMs` has passed.
   */
  rejection(charges: readonly PolicyCharge[]): Decision | undefined {
    if (this.rejections === undefined) return undefined;
    const now = performance.now();
    let rejection: Decision | undefined;
    for (const charge of charges) {
      const known = this.rejections
        .get(charge.key)
        ?.find((rejected) => answers(rejected, charge) && charge.cost >= rejected.charge.cost);
      if (known === undefined) continue;
      const passedMs = now - known.at;
      const { judged, decidedBy } = known;
      const decision = policyDecision(judged.charge, later(judged.verdict, passedMs * 1000), decidedBy);
      if (decision.retryAfterMs !== null && decision.retryAfterMs <= 0) continue;
      rejection = {
        allowed: false,
        decidedBy,
        policies: [...(rejection?.policies ?? []), decision],
        retryAfterMs: longest(rejection?.retryAfterMs ?? 0, decision.retryAfterMs),
        delayMs: 0,
        decidedAtMs: known.decidedAtMs + passedMs,
      };
    }
    return rejection;
  }

  /** The failure of a decision that the charges have to get as well. It lasts until its `retryAfterMs` has passed. */
  failure(charges: readonly PolicyCharge[]): LimiterUnavailableError | undefined {
    if (this.failures === undefined) return undefined;
    const now = performance.now();
    return this.failures.find(
      (failed) =>
        now - failed.at < failed.error.retryAfterMs &&
        // One of them wants no decision without the store, whichever it is.
        failed.charges.every((one) => charges.some((other) => one.key === other.key && wantsSame(one, other))),
    )?.error;
  }
}

/** Replaces what the same policy has said before. */
function note<T extends Outcome>(map: Map<string, T[]>, outcome: T): void {
  const { charge } = outcome;
  const known = map.get(charge.key);
  const index = known?.findIndex((one) => answers(one, charge)) ?? -1;
  if (known === undefined) map.set(charge.key, [outcome]);
  else if (index < 0) known.push(outcome);
  else known[index] = outcome;
}

function answers({ charge, decidedBy }: Outcome, other: PolicyCharge): boolean {
  // A policy that wants a 503 without the store is not satisfied by what this process let pass by itself.
  return decidedBy === 'store' || decidedBy === 'prefetch'
    ? sameMeaning(charge.policy, other.policy)
    : wantsSame(charge, other);
}

function wantsSame(one: PolicyCharge, other: PolicyCharge): boolean {
  return one.policy.onStoreFailure === other.policy.onStoreFailure && sameMeaning(one.policy, other.policy);
}

function longest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.max(one, other);
}

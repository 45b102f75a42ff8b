import type { Decision } from '../../policy/decision.js';
import { sameMeaning } from '../../policy/state-claims.js';
import type { LimiterUnavailableError } from '../../charges/errors.js';
import { type JudgedCharge, type Judgement, policyDecision } from '../../charges/judgement.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { later } from '../../charges/layer-verdict.js';
import { decisionOfPasses } from './passed-decision.js';

/** How a policy decided on a charge. */
interface NotedCharge {
  readonly charge: PolicyCharge;
  readonly decidedBy: Decision['decidedBy'];
}

/** An allowed charge. With `decidedBy: 'open'` it passed without being counted. */
export interface Passed extends NotedCharge {
  /** The judgement on the charge, and the charge's index in it. */
  readonly judgement: Judgement;
  readonly index: number;
  /** The wait for its departure slot, which each further call of the operation shares. */
  departure: Promise<void> | undefined;
}

interface Rejected extends NotedCharge {
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
 * The decisions of policies on one request, so that each policy decides once on what its steps ask alike. A step that asks for another
 * cost, or in another class, is decided by itself. Equal keys alone do not prove the same policy: a window's key does not carry its limit.
 */
export class ChargeHistory {
  /** The passes by key. */
  private readonly passes = new Map<string, Passed[]>();
  // Undefined for most requests, which have no rejection and no failure.
  private rejections: Map<string, Rejected[]> | undefined;
  private failures: Failed[] | undefined;

  /** The pass that answers for a charge. */
  passed(charge: PolicyCharge): Passed | undefined {
    return this.passes.get(charge.key)?.find((passed) => answers(passed, charge));
  }

  /**
   * @param decidedBy what counts as having decided on the charge
   * @param index the charge's index in the judgement
   */
  notePassed(charge: PolicyCharge, decidedBy: Decision['decidedBy'], judgement: Judgement, index: number): void {
    note(this.passes, { charge, decidedBy, judgement, index, departure: undefined });
  }

  /**
   * The decisions by which charges have passed, as one; undefined if none has.
   *
   * @param charges default all
   */
  passedBy(charges?: readonly PolicyCharge[]): Decision | undefined {
    const passes = charges?.flatMap((charge) => this.passed(charge) ?? []) ?? [...this.passes.values()].flat();
    return passes.length === 0 ? undefined : decisionOfPasses(passes);
  }

  noteRejected(charge: PolicyCharge, judged: JudgedCharge, { decidedBy, decidedAtMs }: Decision): void {
    note((this.rejections ??= new Map()), { charge, decidedBy, judged, decidedAtMs, at: performance.now() });
  }

  noteFailed(charges: readonly PolicyCharge[], error: LimiterUnavailableError): void {
    (this.failures ??= []).push({ charges, error, at: performance.now() });
  }

  /** The rejection that the charges have to get, because the same policies rejected them before. It is valid until its `retryAfterMs` has passed. */
  rejection(charges: readonly PolicyCharge[]): Decision | undefined {
    if (this.rejections === undefined) return undefined;
    const now = performance.now();
    let rejection: Decision | undefined;
    for (const charge of charges) {
      const known = this.rejections.get(charge.key)?.find((rejected) => answers(rejected, charge));
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

  /**
   * The failure that the charges have to get, because an earlier decision failed. It is valid until its `retryAfterMs` has
   * passed.
   */
  failure(charges: readonly PolicyCharge[]): LimiterUnavailableError | undefined {
    if (this.failures === undefined) return undefined;
    const now = performance.now();
    return this.failures.find(
      (failed) =>
        now - failed.at < failed.error.retryAfterMs &&
        // One of the charges requires the store; it is not known which one.
        failed.charges.every((one) => charges.some((other) => one.key === other.key && wantsSame(one, other))),
    )?.error;
  }
}

/** Replaces the earlier outcome of the same policy. */
function note<T extends NotedCharge>(map: Map<string, T[]>, outcome: T): void {
  const { charge } = outcome;
  const known = map.get(charge.key);
  const index = known?.findIndex((one) => answers(one, charge)) ?? -1;
  if (known === undefined) map.set(charge.key, [outcome]);
  else if (index < 0) known.push(outcome);
  else known[index] = outcome;
}

/** Whether the outcome of a charge is that of another one. */
function answers({ charge, decidedBy }: NotedCharge, other: PolicyCharge): boolean {
  if (charge.cost !== other.cost || charge.headroom !== other.headroom) return false;
  // A policy with `onStoreFailure: 'closed'` does not accept a decision that this process made without the store.
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

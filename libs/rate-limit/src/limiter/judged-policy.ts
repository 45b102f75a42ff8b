import type { PolicyDecision } from '../policy/decision.js';
import type { PolicyCharge } from './policy-charge.js';

/** What one policy said, with the charge that it said it to. */
export class JudgedPolicy implements PolicyDecision {
  // Private by the language: callers compare and print decisions.
  readonly #charge: PolicyCharge;
  // Declared only: a decision without an override, a plan or a block has no such property.
  declare readonly override?: number;
  declare readonly plan?: string;
  declare readonly blockedForMs?: number;
  declare readonly estimated?: true;

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
    override: number | undefined,
    plan: string | undefined,
    blockedForMs: number | undefined,
    estimated?: true,
  ) {
    this.#charge = charge;
    if (override !== undefined) this.override = override;
    if (plan !== undefined) this.plan = plan;
    if (blockedForMs !== undefined) this.blockedForMs = blockedForMs;
    if (estimated !== undefined) this.estimated = estimated;
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
export function countedDown(decision: PolicyDecision, passedMs: number): PolicyDecision {
  const { policy, algorithm, limit, allowed, remaining, delayMs } = decision;
  const resetAfterMs = Math.max(0, decision.resetAfterMs - passedMs);
  const retryAfterMs = decision.retryAfterMs === null ? null : Math.max(0, decision.retryAfterMs - passedMs);
  const blockedForMs = decision.blockedForMs === undefined ? undefined : Math.max(0, decision.blockedForMs - passedMs);
  const charge = JudgedPolicy.charge(decision);
  if (charge === undefined) {
    const later = { ...decision, resetAfterMs, retryAfterMs };
    return blockedForMs === undefined ? later : { ...later, blockedForMs };
  }
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
    charge.override,
    charge.policy.plan,
    blockedForMs,
    decision.estimated,
  );
}

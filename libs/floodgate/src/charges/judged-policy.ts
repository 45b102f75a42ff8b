import type { PolicyDecision } from '../policy/decision.js';
import type { ChargeVerdict } from '../stores/store.js';
import type { PolicyCharge } from './policy-charge.js';

export const MICROSECONDS = 1000;

export function milliseconds(microseconds: number): number | null {
  return microseconds === Infinity ? null : microseconds / MICROSECONDS;
}

/** What a decision says of a charge. */
export type JudgedNumbers = Pick<PolicyCharge, 'policy' | 'algorithm' | 'headroom' | 'override' | 'insteadOf'>;

/** One policy's decision, with its charge. */
export class JudgedPolicy implements PolicyDecision {
  // Private by the language: callers compare and print decisions.
  readonly #charge: PolicyCharge;
  // Declared only: a decision without an override, a plan, a class or a block has no such property.
  declare readonly override?: number;
  declare readonly plan?: string;
  declare readonly priority?: string;
  declare readonly blockedForMs?: number;
  declare readonly blockStep?: number;
  declare readonly estimated?: true;
  declare readonly insteadOf?: string;

  readonly policy: string;
  readonly algorithm: PolicyDecision['algorithm'];
  readonly limit: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly retryAfterMs: number | null;
  readonly delayMs: number;

  /** @param numbers of the charge, where reading them from it would cost too much */
  constructor(charge: PolicyCharge, verdict: ChargeVerdict, numbers: JudgedNumbers = charge) {
    const { policy, algorithm, headroom, override, insteadOf } = numbers;
    const { name, plan, priority } = policy;
    this.#charge = charge;
    this.policy = name;
    this.algorithm = algorithm.name;
    this.limit = algorithm.limit - headroom;
    this.allowed = verdict.allowed;
    this.remaining = verdict.remaining;
    this.resetAfterMs = verdict.resetAfter / MICROSECONDS;
    this.retryAfterMs = milliseconds(verdict.retryAfter);
    this.delayMs = verdict.delay / MICROSECONDS;
    if (override !== undefined) this.override = override;
    if (plan !== undefined) this.plan = plan;
    if (priority !== undefined) this.priority = priority;
    const { blockedFor, blockStep, estimated } = verdict;
    if (blockedFor !== undefined) {
      this.blockedForMs = blockedFor / MICROSECONDS;
      if (blockStep !== undefined) this.blockStep = blockStep;
    }
    if (estimated !== undefined) this.estimated = estimated;
    if (insteadOf !== undefined) this.insteadOf = insteadOf;
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

/**
 * Whether a refund or a release may, at any time, free what the policy lacks. Estimates of prefetched tokens are of another
 * kind.
 */
export function isRefundable(decision: PolicyDecision): boolean {
  if (decision.estimated !== true) return false;
  return !decision.allowed || (decision.remaining === 0 && chargeOfDecision(decision)?.mode === 'reserve');
}

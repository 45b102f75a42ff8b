import type { Decision, PolicyDecision } from '../policy/decision.js';
import { LimiterUnavailableError } from './errors.js';
import type { ExplainedOutcome, PolicyExplanation } from './explain.js';
import type { ActiveOverride } from './overrides/override-table.js';

/** What a request meets at one policy. */
export interface Met {
  readonly outcome: ExplainedOutcome;
  readonly isRejected: boolean;
  readonly level: PolicyExplanation['level'];
  readonly decidedBy: PolicyExplanation['decidedBy'];
  readonly retryAfterMs: number | null;
  /** Undefined where no clock was read. */
  readonly atMs: number | undefined;
}

/**
 * What a decision, or the lack of one, means at one policy.
 *
 * @param answer undefined: the policy does not count such an identity
 */
export function meets(
  answer: Decision | LimiterUnavailableError | undefined,
  override: ActiveOverride | undefined,
): Met {
  const nothing = { isRejected: false, level: null, decidedBy: null, retryAfterMs: null, atMs: undefined };
  if (answer === undefined) return { ...nothing, outcome: 'not-counted' };
  if (answer instanceof LimiterUnavailableError) {
    return { ...nothing, outcome: 'unavailable', isRejected: true, decidedBy: 'closed' };
  }
  const { allowed, decidedBy, policies, shadow, retryAfterMs, decidedAtMs: atMs } = answer;
  const met = { isRejected: !allowed, decidedBy, retryAfterMs, atMs };
  if (decidedBy === 'override') {
    return { ...met, level: null, outcome: override?.kind === 'exempt' || allowed ? 'exempt' : 'blocked' };
  }
  const [policy = shadow?.[0]] = policies;
  if (policy === undefined) return { ...met, outcome: allowed ? 'passes' : 'rejected', level: null };
  // What is counted stands behind the block: `remaining` is 0 meanwhile.
  if (policy.blocked === true && !allowed) return { ...met, outcome: 'blocked', level: null };
  const { limit, remaining, resetAfterMs } = policy;
  return {
    ...met,
    outcome: outcomeOf(policy, allowed),
    level: { limit, used: limit - remaining, remaining, resetAfterMs },
  };
}

/** @param passes whether the request passes: also where a shadow would reject it */
function outcomeOf(policy: PolicyDecision, passes: boolean): ExplainedOutcome {
  if (policy.allowed) return 'passes';
  return passes ? 'would-reject' : 'rejected';
}

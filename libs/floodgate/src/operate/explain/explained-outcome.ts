import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Decision } from '../../policy/decision.js';
import { LimiterUnavailableError } from '../../charges/errors.js';
import type { ExplainedBlock, ExplainedOutcome, PolicyExplanation } from './explanation.js';
import type { ActiveOverride } from '../../layers/overrides/override-table.js';

/** The explanation of one policy's decision. */
export interface Met {
  readonly outcome: ExplainedOutcome;
  readonly isRejected: boolean;
  readonly level: PolicyExplanation['level'];
  readonly decidedBy: PolicyExplanation['decidedBy'];
  readonly retryAfterMs: number | null;
  /** Milliseconds until the block that stands ends; undefined without one. */
  readonly blockedForMs: number | undefined;
  /** Which of its durations that block lasts, from 1; undefined where it has one only. */
  readonly blockStep: number | undefined;
  /** Undefined where no clock was read. */
  readonly atMs: number | undefined;
}

/**
 * Explains a decision of one policy, or the lack of a decision.
 *
 * @param answer undefined: the policy does not count such an identity
 */
export function meets(
  answer: Decision | LimiterUnavailableError | undefined,
  override: ActiveOverride | undefined,
): Met {
  const nothing = {
    isRejected: false,
    level: null,
    decidedBy: null,
    retryAfterMs: null,
    blockedForMs: undefined,
    blockStep: undefined,
    atMs: undefined,
  };
  if (answer === undefined) return { ...nothing, outcome: 'not-counted' };
  if (answer instanceof LimiterUnavailableError) {
    return { ...nothing, outcome: 'unavailable', isRejected: true, decidedBy: 'closed' };
  }
  const { allowed, policies, shadow, decidedAtMs: atMs } = answer;
  // Prefetched tokens never pay a peek.
  const decidedBy = answer.decidedBy === 'prefetch' ? 'store' : answer.decidedBy;
  // Only one policy was asked. Its decision is in one of the two lists.
  const judged = policies[0] ?? shadow?.[0];
  const { retryAfterMs, blockedForMs, blockStep } = { ...answer, ...judged };
  const met = { isRejected: !allowed, decidedBy, retryAfterMs, blockedForMs, blockStep, atMs };
  if (decidedBy === 'override') {
    return { ...met, level: null, outcome: override?.kind === 'exempt' || allowed ? 'exempt' : 'blocked' };
  }
  if (judged === undefined) return { ...met, outcome: 'passes', level: null };
  const rejects = shadow === undefined ? 'rejected' : 'would-reject';
  // During a block `remaining` is 0, whatever the limit has left: there is no level to show.
  if (blockedForMs !== undefined) return { ...met, outcome: shadow === undefined ? 'blocked' : rejects, level: null };
  const outcome = judged.allowed ? 'passes' : rejects;
  const { limit, remaining, resetAfterMs } = judged;
  return { ...met, outcome, level: { limit, used: limit - remaining, remaining, resetAfterMs } };
}

/** The current block. Requests during a block do not extend it, so its start is its end less its length. */
export function explainedBlock(
  { block }: Pick<BoundPolicy, 'block'>,
  { atMs, blockedForMs, blockStep: step = 1 }: Met,
): ExplainedBlock | null {
  if (block === undefined || atMs === undefined || blockedForMs === undefined) return null;
  const endsMs = atMs + blockedForMs;
  const since = new Date(Math.floor(endsMs - block.durations[step - 1]! / 1000)).toISOString();
  return { since, until: isoOf(endsMs), step };
}

/** The instant as ISO text, rounded up to a millisecond: rounded down, it would be too early. */
export function isoOf(ms: number): string {
  return new Date(Math.ceil(ms)).toISOString();
}

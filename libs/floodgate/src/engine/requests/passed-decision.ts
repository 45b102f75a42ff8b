import type { Decision, PolicyDecision } from '../../policy/decision.js';
import { MICROSECONDS } from '../../charges/judged-policy.js';
import { policyDecision } from '../../charges/judgement.js';
import { later } from '../../charges/layer-verdict.js';
import type { Passed } from './charge-history.js';

/**
 * One decision of all charges that have passed, of one or several steps of a request: earlier ones are counted down to the last.
 *
 * @param passes at least one
 */
export function decisionOfPasses(passes: readonly Passed[]): Decision {
  const judgements = passes.map(({ judgement }) => judgement);
  const last = judgements.reduce((one, other) => (other.decidedAt >= one.decidedAt ? other : one));
  const policies: PolicyDecision[] = [];
  const shadow: PolicyDecision[] = [];
  for (const { charge, judgement, index } of passes) {
    // An override exempts the client, or the store is unavailable and the policy 'open'.
    const judged = judgement.at(index);
    if (judged === undefined) continue;
    const elapsed = last.decidedAt - judgement.decidedAt;
    const verdict = elapsed === 0 ? judged.verdict : later(judged.verdict, elapsed);
    (charge.shadow ? shadow : policies).push(policyDecision(judged.charge, verdict, judgement.decision.decidedBy));
  }
  return {
    allowed: true,
    decidedBy: last.decision.decidedBy,
    policies,
    retryAfterMs: 0,
    delayMs: Math.max(0, ...policies.map(({ delayMs }) => delayMs)),
    decidedAtMs: last.decidedAt / MICROSECONDS,
    ...(shadow.length > 0 && { shadow }),
  };
}

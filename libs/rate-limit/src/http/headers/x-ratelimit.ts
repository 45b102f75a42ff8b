import type { Decision, PolicyDecision } from '../../policy/decision.js';
import type { Header } from './header.js';

/** The names of the format. */
export const X_RATE_LIMIT = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/**
 * `X-RateLimit-Limit`, `-Remaining` and `-Reset` (Unix seconds, rounded up, at which the bucket is full or the window ends) of
 * the policy with the smallest share of its limit left. Among equals a policy that rejects wins.
 *
 * @param receivedAtMs milliseconds of the application's wall clock when the decision arrived. Clients compare the headers with
 *   the application's `Date`, not with the clock of Redis.
 */
export function xRateLimitHeaders(decision: Decision, receivedAtMs: number): readonly Header[] {
  const tightest = decision.policies.reduce((a, b) => (isTighter(b, a) ? b : a));
  return [
    [X_RATE_LIMIT[0], String(tightest.limit)],
    [X_RATE_LIMIT[1], String(tightest.remaining)],
    [X_RATE_LIMIT[2], String(Math.ceil((receivedAtMs + tightest.resetAfterMs) / 1000))],
  ];
}

function isTighter(a: PolicyDecision, b: PolicyDecision): boolean {
  const [left, right] = [a.remaining * b.limit, b.remaining * a.limit];
  return left < right || (left === right && !a.allowed && b.allowed);
}

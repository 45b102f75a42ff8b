import { isRefundable } from '../../charges/judged-policy.js';
import type { Decision, PolicyDecision } from '../../policy/decision.js';
import type { ClockOffset } from './clock-offset.js';
import type { Header } from './header.js';
import { X_RATE_LIMIT, X_RATE_LIMIT_ESTIMATED } from './names.js';

/**
 * `X-RateLimit-Limit`, `-Remaining` and `-Reset` (Unix seconds, rounded up, at which the bucket is full or the window ends) of
 * the policy with the smallest share of its limit left. Among equals a policy that rejects wins. `X-RateLimit-Estimated: true` where
 * nothing is left of it, or too little, and charges that are still open may be refunded.
 *
 * @param receivedAtMs milliseconds of the application's wall clock when the decision arrived
 * @param offset between that clock and the store's: clients compare the header with the application's `Date`
 */
export function xRateLimitHeaders(decision: Decision, receivedAtMs: number, offset: ClockOffset): readonly Header[] {
  const { decidedAtMs, policies } = decision;
  const tightest = policies.reduce((a, b) => (isTighter(b, a) ? b : a));
  const reset = offset.applied(decidedAtMs + tightest.resetAfterMs, decidedAtMs, receivedAtMs);
  const headers: Header[] = [
    [X_RATE_LIMIT[0], String(tightest.limit)],
    [X_RATE_LIMIT[1], String(tightest.remaining)],
    [X_RATE_LIMIT[2], String(Math.ceil(reset / 1000))],
  ];
  if (isRefundable(tightest)) headers.push([X_RATE_LIMIT_ESTIMATED, 'true']);
  return headers;
}

function isTighter(a: PolicyDecision, b: PolicyDecision): boolean {
  const [left, right] = [a.remaining * b.limit, b.remaining * a.limit];
  return left < right || (left === right && !a.allowed && b.allowed);
}

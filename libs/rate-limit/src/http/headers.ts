import type { Decision, PolicyDecision } from '../policy/decision.js';

/** The values of the `X-RateLimit-*` headers of one decision. */
export interface RateLimitHeaders {
  /** Capacity or limit. */
  readonly limit: string;
  /** Requests of cost 1 that would pass now. */
  readonly remaining: string;
  /** Unix seconds, rounded up, at which the bucket is full or the window ends. */
  readonly reset: string;
}

/**
 * The headers of the policy with the smallest share of its limit left. Among equals a policy that rejects wins.
 *
 * @param receivedAtMs milliseconds of the application's wall clock when the decision arrived. Clients compare the headers with
 *   the application's `Date`, not with the clock of Redis.
 */
export function rateLimitHeaders(decision: Decision, receivedAtMs: number): RateLimitHeaders {
  const tightest = decision.policies.reduce((a, b) => (isTighter(b, a) ? b : a));
  return {
    limit: String(tightest.limit),
    remaining: String(tightest.remaining),
    reset: String(Math.ceil((receivedAtMs + tightest.resetAfterMs) / 1000)),
  };
}

function isTighter(a: PolicyDecision, b: PolicyDecision): boolean {
  const [left, right] = [a.remaining * b.limit, b.remaining * a.limit];
  return left < right || (left === right && !a.allowed && b.allowed);
}

/** The value of `Retry-After`: whole seconds, rounded up, at least 1. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

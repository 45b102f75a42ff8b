import type { RateLimitRequest } from '../identity/request-function.js';
import type { Outcome } from '../policy/outcome.js';
import { Estimates, type ModelRequest } from './estimate.js';
import { usedNothing } from './failures.js';
import { UsageReader } from './usage.js';

/** The options of a policy that counts the tokens of a model. */
export interface ModelTokens {
  readonly cost: (request: RateLimitRequest<{ body?: unknown }>) => number;
  readonly settle: (outcome: Outcome) => number | null;
}

/**
 * Options of a policy on a route that answers with what a model has answered: it charges an estimate of the request's body, and settles
 * it at the `usage` of what the handler returns, or of the last event of what it streams. An error with a status from 400 on costs nothing.
 * Where nothing says what was used, as when the client has left, the estimate stays charged: `limitModel` counts that exactly.
 *
 * @example @RateLimit({ algorithm: 'token-bucket', capacity: 40_000, refill: '40000/m', ...modelTokens() })
 */
export function modelTokens(): ModelTokens {
  const estimates = new Estimates();
  return {
    cost: ({ body }) => {
      return Math.min(estimates.of(Object(body) as ModelRequest).all, Number.MAX_SAFE_INTEGER);
    },
    settle({ value, error }) {
      if (error !== undefined) return usedNothing(error) ? 0 : null;
      const usage = new UsageReader();
      usage.read(value);
      return usage.said ?? null;
    },
  };
}

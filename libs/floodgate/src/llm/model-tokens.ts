import type { RateLimitRequest } from '../identity/request-function.js';
import type { Outcome } from '../policy/outcome.js';
import { Estimates, type ModelRequest } from './estimate.js';
import { UsageReader } from './usage.js';

/** The options of a policy that counts the tokens of a model. */
export interface ModelTokens {
  readonly cost: (request: RateLimitRequest<{ body?: unknown }>) => number;
  readonly settle: (outcome: Outcome) => number | null;
}

/**
 * Options of a policy on a route that answers with what a model has answered: it charges an estimate of the request's body, and settles
 * it at the `usage` of what the handler returns, or of the last event of what it streams. A handler that fails costs nothing. Where
 * nothing says what was used, as when the client has left, the estimate stays charged: `limitModel` counts that exactly.
 *
 * @example @RateLimit({ algorithm: 'token-bucket', capacity: 40_000, refill: '40000/m', ...modelTokens() })
 */
export function modelTokens(): ModelTokens {
  const estimates = new Estimates();
  return {
    cost: ({ body }) => {
      const request: ModelRequest = Object(body);
      return estimates.input(request) + estimates.output(request);
    },
    settle({ value, error, aborted }) {
      if (error !== undefined) return aborted ? null : 0;
      const usage = new UsageReader();
      usage.read(value);
      return usage.said ?? null;
    },
  };
}

import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../policy/decision.js';

/**
 * Where a decision came from: what `Decision.decidedBy` says, and
 * - `'denial-cache'`: a refusal by the store that was still certain, so that it was not asked again (`decidedBy` is `'store'`)
 * - `'closed'`: the store could not decide and `onStoreFailure: 'closed'` answered 503
 */
export type DecisionSource = 'store' | 'denial-cache' | 'local' | 'open' | 'closed';

/** What `onDecision` is told of a decision. Never who asked. */
export interface DecisionEvent {
  /** What came out. Of `'closed'`, where a 503 stands in place of a decision, `allowed` is false and `policies` empty. */
  readonly decision: Omit<Decision, 'decidedBy'>;
  /** Who decided. */
  readonly source: DecisionSource;
  /**
   * Class and method of the handler, `'RidesController.request'`; `'RateLimitMiddleware.use'` for the module's `middleware`;
   * undefined for decisions of `RateLimiter`.
   */
  readonly route: string | undefined;
  /**
   * Milliseconds from asking to the answer. Where the store could not decide, what it took to know that; the wait for a leaky
   * bucket's departure slot comes after it.
   */
  readonly durationMs: number;
}

/** A handler, as an `ExecutionContext` knows it. */
export type Place = Pick<ExecutionContext, 'getClass' | 'getHandler'>;

/** Class and method, as they are called in the code. */
export function routeName(place: Place): string {
  return `${place.getClass().name}.${place.getHandler().name}`;
}

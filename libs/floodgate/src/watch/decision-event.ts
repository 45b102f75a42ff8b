import type { DecisionSource } from '../charges/layer-verdict.js';
import type { Decision } from '../policy/decision.js';

/** One decision, for `onDecision`. It names identities with the module's `decisionIdentity` only. */
export interface DecisionEvent {
  /** The outcome. With source `'closed'` the request got a 503: `allowed` is false and `policies` is empty. */
  readonly decision: Omit<Decision, 'decidedBy'>;
  readonly source: DecisionSource;
  /**
   * Class and method of the handler, `'RidesController.request'`; `'RateLimitMiddleware.use'` for the module's `middleware`;
   * undefined for decisions of `RateLimiter`.
   */
  readonly route: string | undefined;
  /**
   * Milliseconds from the question to the answer, or to the failure if the store could not decide. The wait for a leaky
   * bucket's departure slot is not included.
   */
  readonly durationMs: number;
  /**
   * The identity that each policy counted, shadows included, by the policy's name: with `decisionIdentity`. The tag of an API key
   * is always a hash.
   */
  readonly identities?: Readonly<Record<string, string>>;
}

/** A handler, as a framework's context names it. */
export interface HandlerContext {
  getClass(): { readonly name: string };
  getHandler(): { readonly name: string };
}

/** Class and method of a handler. */
export function routeName(handler: HandlerContext): string {
  return `${handler.getClass().name}.${handler.getHandler().name}`;
}

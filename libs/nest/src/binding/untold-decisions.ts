import type { LimitableHandler } from '../contexts/limitable-handlers.js';
import type { RoutePolicies } from '../routes/route-policies.js';
import { asksForDecision } from '../decisions/decision-parameters.js';

/** Warnings about handlers whose `@RateLimitDecision()` is always undefined. */
export function untoldDecisions(
  handlers: readonly LimitableHandler[],
  routes: Pick<RoutePolicies, 'of'>,
  hasMiddleware: boolean,
): string[] {
  return handlers.flatMap(({ type, handler, method, adapter, name }) => {
    if (!asksForDecision(type, method)) return [];
    if (routes.of(type, handler) !== undefined || (hasMiddleware && adapter.type === 'http')) return [];
    return `${name}: @RateLimitDecision is always undefined there, because no policy limits ${adapter.handlers}: add @RateLimit`;
  });
}

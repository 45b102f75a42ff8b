import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import { type Decision, RateLimitConfigError } from 'floodgate';
import { RECORD, type RecordedRequest, shown } from 'floodgate/internal';
import { isView } from '../contexts/is-view.js';
import { isHost } from '../contexts/http-context.js';
import { viewOf } from './viewed-calls.js';

/**
 * Returns the decision by which the guard, and the module's `middleware` before it, have let a request pass. Undefined where
 * no policy was asked: without policies, and after `@SkipRateLimit`, `skipIf`, `shouldSkip` or the allow list. For guards and
 * interceptors behind the guard, and whatever they call; a handler takes `@RateLimitDecision()`.
 *
 * A rejected request has none: its exception has the decision.
 *
 * @param target the `ExecutionContext`, or the request of an HTTP route. In an exception filter outside of HTTP the context no
 *   longer leads to its call
 * @throws {RateLimitConfigError} for anything else
 * @example
 * ```ts
 * intercept(context: ExecutionContext, next: CallHandler) {
 *   const decision = rateLimitDecisionOf(context);
 *   this.log(decision?.policies[0]?.remaining);
 *   return next.handle();
 * }
 * ```
 */
export function rateLimitDecisionOf(target: ExecutionContext | ArgumentsHost | object): Decision | undefined {
  if (typeof target !== 'object' || target === null) {
    throw new RateLimitConfigError(
      'rateLimitDecisionOf',
      `takes the ExecutionContext, or the request of a route, got ${shown(target)}`,
    );
  }
  if (isView(target)) return target.decision;
  if (!isHost(target)) return passedBy(target);
  if (target.getType() !== 'http') return viewOf(target)?.decision;
  return passedBy(target.getArgByIndex<object>(0));
}

function passedBy(request: object): Decision | undefined {
  return (request as RecordedRequest)[RECORD]?.passedBy();
}

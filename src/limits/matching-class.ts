import { Reflector } from '@nestjs/core';
import type { RateLimitRequest } from 'nestjs-floodgate';
import type { ExecutionContext } from '@nestjs/common';

const reflector = new Reflector();

/** The classes of requests that matching has to answer. What is left of its limit goes to rides first. */
export type MatchingClassName = 'rides' | 'estimates';

/**
 * Decorates a handler with the class of its requests under the policy `matching`. Default: `rides`.
 *
 * @example @MatchingClass('estimates')
 */
export const MatchingClass = Reflector.createDecorator<MatchingClassName>();

/** The class of a handler; undefined: the first one. */
export function classOfHandler(handler: () => unknown): MatchingClassName | undefined {
  // Undefined for a handler without the decorator, whatever the type of `get` says.
  return reflector.get(MatchingClass, handler);
}

/** The class of a request. The handler says it, and not the client: a path has more than one spelling. */
export function matchingClassOf(_: RateLimitRequest, context: ExecutionContext): MatchingClassName | undefined {
  return classOfHandler(context.getHandler() as () => unknown);
}

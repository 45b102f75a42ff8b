import 'reflect-metadata';
import { createParamDecorator, type ExecutionContext, UseFilters } from '@nestjs/common';
import { type Decision, RateLimitConfigError } from 'floodgate';
import { placeOf } from '../decorators/decorate.js';
import { presenceCheck, RATE_LIMIT_PRESENT } from '../decorators/presence.js';
import { rateLimitDecisionOf } from './decision-of.js';

/** Tells a handler its decision. Nest keeps it among the metadata of the handler's parameters. */
export const tellDecision = (_: unknown, context: ExecutionContext): Decision | undefined =>
  rateLimitDecisionOf(context);
const parameter = createParamDecorator(tellDecision);

/**
 * Gives a handler the `Decision` by which the guard let its request pass: how much is left, which plan and class decided, what
 * the policies in shadow say. In each context that the guard covers: routes, resolvers, gateways, message handlers. It is
 * undefined where no policy was asked, and boot warns where that is always so.
 *
 * @throws {RateLimitConfigError} without parentheses, and on a parameter of a constructor
 * @example
 * ```ts
 * \@Get()
 * \@RateLimit('reports')
 * list(\@RateLimitDecision() decision: Decision | undefined) {}
 * ```
 */
export function RateLimitDecision(...args: never[]): ParameterDecorator {
  const [target, property, index] = args as readonly unknown[];
  // Without parentheses TypeScript calls it with the parameter.
  if (typeof index === 'number') {
    throw wrong(
      placeOf(target as object, property as string | undefined),
      'needs its parentheses: @RateLimitDecision()',
    );
  }
  return (on, method, at) => {
    if (method === undefined)
      throw wrong(placeOf(on, undefined), 'belongs on a parameter of a method that handles requests');
    parameter()(on, method, at);
    const missing =
      `${placeOf(on, method)}: @RateLimitDecision is always undefined, because RateLimitModule is not imported: add ` +
      `RateLimitModule.forRoot() to the imports of the root module`;
    const descriptor = Object.getOwnPropertyDescriptor(on, method);
    if (descriptor !== undefined) UseFilters(presenceCheck(RATE_LIMIT_PRESENT, missing))(on, method, descriptor);
  };
}

function wrong(place: string, problem: string): RateLimitConfigError {
  return new RateLimitConfigError(place, `@RateLimitDecision ${problem}`, 'FG_DECORATOR');
}

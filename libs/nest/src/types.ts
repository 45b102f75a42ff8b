import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type * as floodgate from 'floodgate';
import type * as http from 'floodgate/http';
import type { Decision } from 'floodgate';
import type { RateLimitRequest } from 'floodgate/http';
import type { IdentityChain as GenericIdentityChain } from 'floodgate/internal-boot';

// The types whose functions take a request's context: with Nest's context, under the names that users know. Interfaces, so that
// messages of the compiler say these names.

/**
 * Finds one kind of identity in a request.
 *
 * @example { kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: User }>) => user?.id }
 */
export type IdentityResolver = http.IdentityResolver<ExecutionContext>;

/** Finds the identity of a request that a policy's `by` names. */
export type IdentityChain = GenericIdentityChain<ExecutionContext>;

/** The identity that a policy counts: `'client'`, a kind, `'global'`, or a function of the request. */
export type PolicyBy = floodgate.IdentityBy<ExecutionContext>;
export interface TokenBucketPolicy extends floodgate.TokenBucketPolicy<ExecutionContext> {}
export interface LeakyBucketPolicy extends floodgate.LeakyBucketPolicy<ExecutionContext> {}
export interface FixedWindowPolicy extends floodgate.FixedWindowPolicy<ExecutionContext> {}
export interface SlidingWindowLogPolicy extends floodgate.SlidingWindowLogPolicy<ExecutionContext> {}
export interface SlidingWindowCounterPolicy extends floodgate.SlidingWindowCounterPolicy<ExecutionContext> {}
export interface ConcurrencyPolicy extends floodgate.ConcurrencyPolicy<ExecutionContext> {}

type NamedPolicy =
  | TokenBucketPolicy
  | LeakyBucketPolicy
  | FixedWindowPolicy
  | SlidingWindowLogPolicy
  | SlidingWindowCounterPolicy
  | ConcurrencyPolicy;

type OtherPolicy = Exclude<floodgate.Policy<ExecutionContext>, { readonly algorithm: NamedPolicy['algorithm'] }>;

/** One limit: an algorithm, its parameters, a name, and the identity that it counts. */
// oxlint-disable-next-line no-redundant-type-constituents -- a further algorithm stands under the name of its generic type
export type Policy = NamedPolicy | OtherPolicy;
export type PolicyFunction = http.PolicyFunction<ExecutionContext>;
export type PolicyCalendar = floodgate.PolicyCalendar<ExecutionContext>;
export type PlanNumbers = floodgate.PlanNumbers<ExecutionContext>;
export type TimeZoneFunction = http.TimeZoneFunction<ExecutionContext>;
export interface PolicyChoice extends http.PolicyChoice<ExecutionContext> {}
export interface PolicyUse extends http.PolicyUse<ExecutionContext> {}

/** What `@RateLimit` takes: a policy, the name of one of the module's `policies`, its use with a class, or a function that chooses one. */
export type PolicySource =
  Policy | string | (PolicyUse & NoPolicy) | (PolicyFunction & NoPolicy) | (PolicyChoice & NoPolicy);

/** Tells what chooses a policy from a policy: else the compiler compares a misspelt option with all of them, and suggests none. */
interface NoPolicy {
  algorithm?: undefined;
}

/**
 * Makes the problem details of a rejection; see the module's option `problem`.
 *
 * @param request the request of Express or Fastify
 * @param context the context of the request as an exception filter gets it: without class and handler
 */
export type ProblemFunction = {
  // A method, whose parameters are bivariant: see `RequestFunction`.
  ask(decision: Decision, request: RateLimitRequest, context: ArgumentsHost): object | Promise<object>;
}['ask'];

/**
 * Whether an address is in a list; see the module's `allowList` and `blockList`.
 *
 * @param address IPv4 or IPv6 without port and zone; an IPv4-mapped IPv6 address is given as IPv4
 * @param request the request, or an object with the same members in transports other than HTTP
 */
export type AddressFunction = {
  ask(address: string, request: RateLimitRequest, context: ExecutionContext): boolean | Promise<boolean>;
}['ask'];

export type BoundPolicy = http.BoundPolicy<ExecutionContext>;

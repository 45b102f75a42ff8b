import type { ExecutionContext } from '@nestjs/common';
import type { Duration, LimiterOptions, PlanNumbers } from 'floodgate';
import type { HeaderFormat, OnMissingIdentity, RequestFunction } from 'floodgate/http';
import type { ContextAdapter } from '../contexts/context-adapter.js';
import type { AddressFunction, IdentityResolver, Policy, PolicySource, ProblemFunction } from '../types.js';

/** The policies of the module's `middleware`, and what they leave out. */
export interface MiddlewareOptions {
  /** Names, or policies with a name. */
  readonly policies: readonly PolicySource[];
  /**
   * Paths that the middleware lets through untouched: no policy of it counts them, and neither lists nor `shed` see them there. Each is the
   * whole path as clients send it, with the global prefix and without a query. Another spelling of it is counted. Default none.
   */
  readonly except?: readonly string[] | undefined;
}

/** The options of `RateLimitModule.forRoot`. All of them are optional; a wrong one stops the boot with a `RateLimitConfigError`. */
export interface RateLimitModuleOptions extends Omit<LimiterOptions, 'policies' | 'logger'> {
  /** Policies by name, for `@RateLimit('name')`, `defaults` and `RateLimiter`. Default none. */
  policies?: Readonly<Record<string, Policy>> | undefined;
  /**
   * The policies of every route, resolver and message handler without its own or `@SkipRateLimit`: names, or policies with a
   * name. Default none.
   */
  defaults?: readonly PolicySource[] | undefined;
  /**
   * The policies of all HTTP traffic before it is routed: names, or policies with a name, of scope `'app'`. They also count what
   * no guard sees: requests without a route, bodies that cannot be parsed, CORS preflights, static files. Default none. An object says
   * which paths they leave out, such as those of health checks.
   *
   * They are a step of their own: their charge stays when the route rejects. A policy that stands on both sides is
   * charged once, and needs one cost. `skipIf` reaches them, `@SkipRateLimit` does not. Their functions run before body parsing and
   * authentication; `getClass()` and `getHandler()` return placeholders. docs/identity.md, "Count requests that reach no guard", has the exceptions.
   *
   * @example { middleware: [{ name: 'address', algorithm: 'token-bucket', capacity: 200, refill: 100, by: 'ip' }] }
   * @example { middleware: { policies: ['address'], except: ['/healthz', '/metrics'] } }
   */
  middleware?: readonly PolicySource[] | MiddlewareOptions | undefined;
  /**
   * The resolvers of identities, in order. The first identity found is the one counted. Default `[ipIdentity()]`. Add header
   * identities only where a gateway sets these headers itself: clients that can send them get a fresh limit for each value.
   *
   * @example identity: [apiKeyIdentity(), userIdentity(), ipIdentity()]
   */
  identity?: readonly IdentityResolver[] | undefined;
  /**
   * Says which plan a request's client has, for policies with `plans`. Default none. See docs/plans.md.
   *
   * @example plan: { resolve: ({ user }: RateLimitRequest<{ user: User }>) => planOf(user), cacheFor: '1m' }
   */
  plan?: PlanOptions | undefined;
  /**
   * Rejects requests of low priority with a 503 while this process is over a threshold, before any store is asked. Default none. See
   * docs/production.md, "Shed load".
   *
   * @example shed: { classes: ['background', 'normal'], eventLoopDelay: '100ms', priority: (request) => classOf(request) }
   */
  shed?: ShedOptions | undefined;
  /**
   * What happens to a request without the identity that a policy counts, or whose identity function fails or takes longer than
   * `deadline`: `'ip'` (default) counts its address, `'reject'` answers 401, `'throw'` is a logged 500. The latter two charge
   * nothing. A policy may say otherwise.
   */
  onMissingIdentity?: OnMissingIdentity | undefined;
  /**
   * Addresses that no policy counts: a list of addresses and CIDR ranges, or a function of the address. Default none. The
   * address is that of `by: 'ip'`: it follows the platform's trust-proxy setting. An address in both lists is allowed.
   *
   * A function that throws, rejects, returns no boolean or takes longer than `deadline` counts as not in the list.
   *
   * @example allowList: ['10.0.0.0/8', '2001:db8::/32']
   */
  allowList?: readonly string[] | AddressFunction | undefined;
  /**
   * Addresses that get a 403 (`RateLimitAddressBlockedException`) from every handler behind the guard, limited or not, and from
   * `middleware`, before anything is charged. It takes the same values as `allowList`. Default none.
   *
   * @example blockList: (address) => abuse.isListed(address)
   */
  blockList?: readonly string[] | AddressFunction | undefined;
  /**
   * Adapters for kinds of contexts that the library does not know, or in place of its own for a type. Default none: routes,
   * resolvers and message handlers are known.
   *
   * @example contexts: [{ type: 'job', handlers: 'a job', place: 'providers', isHandler, request }]
   */
  contexts?: readonly ContextAdapter[] | undefined;
  /**
   * The format in which limited responses, allowed and rejected, say what is left. `Retry-After` is in each of them:
   * - `'x-ratelimit'` (default): `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the policy with the smallest share left
   * - `'draft-11'`: `RateLimit-Policy` and `RateLimit` for every policy, draft-ietf-httpapi-ratelimit-headers-11
   * - `'x-ratelimit+draft-11'`: both of them
   * - `'throttler'`: the names of `@nestjs/throttler`, such as `X-RateLimit-Limit-short`, for a migration
   * - `false`: none of them
   *
   * @example headers: 'draft-11'
   */
  headers?: HeaderFormat | false | undefined;
  /**
   * Whether rejections (429, 503 and 401) are problem details, `application/problem+json` of RFC 9457; default false. A function
   * makes the members of a 429; the 503 and the 401 are then as with true. It gets the decision, the request and its
   * context, and may return a promise.
   *
   * If the function throws, rejects, takes longer than `deadline` or returns no object that JSON can represent, the body is as
   * with true, and at most one warning a second is logged. The status and the headers of the answer stay.
   *
   * @example problem: (decision) => ({ type: 'https://api.example/problems/quota', title: 'Slow down', status: 429 })
   */
  problem?: boolean | ProblemFunction | undefined;
  /**
   * The most requests that wait for leaky buckets in this process: a whole number from 1, default 10,000. A request reserves a
   * place before the store is asked. Without a place it gets a 503 with `Retry-After: 1`, and no policy is charged. A waiting
   * request costs memory, and bucket capacity does not bound the total: each client has its own bucket.
   *
   * @example RateLimitModule.forRoot({ maxWaiting: 2_000 })
   */
  maxWaiting?: number | undefined;
  /**
   * The most requests of one client that wait, over all routes: a whole number from 1, default 100. Policies with
   * `by: 'global'` are exempt. Set it to the largest `capacity` of your leaky buckets per client, and some more for requests
   * that are rejected: beyond it they get a 503 instead of their policy's 429. Requests that wait for `plan.resolve` count as well.
   */
  maxWaitingPerClient?: number | undefined;
}

/**
 * What a client's plan is: the name of one of the `plans` of policies, or undefined or null for none. Or the client's own numbers, such as
 * those of a database: for each policy with `plans`, or by the names of policies.
 *
 * @example 'pro'
 * @example { limit: 500 }
 * @example { api: { capacity: 100, refill: 50 }, exports: { limit: 20 } }
 */
export type PlanAnswer = string | PlanNumbers | Readonly<Record<string, PlanNumbers>> | null | undefined;

/** The module's option `plan`: which plan a request's client has. */
export interface PlanOptions {
  /**
   * Returns the client's plan or numbers: see `PlanAnswer`. May be asynchronous. The answer is cached under
   * the identity that the policy counts, so it must depend on nothing else of the request.
   *
   * If it throws, rejects, returns something else, or numbers that a policy cannot have, or takes longer than `deadline`, the last known plan of the client counts,
   * else `fallback`. A request that this plan lets pass is not kept waiting. One that it would reject waits for `timeout`.
   */
  readonly resolve: RequestFunction<ExecutionContext, PlanAnswer | Promise<PlanAnswer>>;
  /**
   * How long an answer counts: milliseconds or text such as `'1m'` (default), 1 ms to 24 hours. A request in the last quarter of
   * that time refreshes it in the background.
   */
  readonly cacheFor?: Duration | undefined;
  /**
   * How long a request waits for `resolve` before it is rejected by the numbers of another plan: milliseconds or text such as
   * `'1s'` (default), 1 ms to 30 s from the beginning of the call. A time below the module's `deadline` has no effect.
   */
  readonly timeout?: Duration | undefined;
  /** The plan of clients whose plan is not known: one that a policy has. Default none, the policies' own numbers. */
  readonly fallback?: string | undefined;
}

/** The module's option `shed`: when this process rejects which requests. At least one threshold is needed. */
export interface ShedOptions {
  /** The classes of requests that give way, lowest first. Requests of other classes, and those without one, always pass. */
  readonly classes: readonly string[];
  /**
   * The class of a request: a name, or a function of the request and its context, which may be asynchronous. Default: the lowest
   * class that the policies of its handler give it.
   *
   * A request whose function throws, rejects, returns something else than text or nothing, or takes longer than `deadline`,
   * passes. Handlers with `@SkipRateLimit()` and addresses in `allowList` always pass.
   */
  readonly priority?:
    string | RequestFunction<ExecutionContext, string | null | undefined | Promise<string | null | undefined>>;
  /** The mean delay of the event loop over which the process is: `'1ms'` to `'10s'` in whole milliseconds. Default none. */
  readonly eventLoopDelay?: Duration | undefined;
  /** The part of the time in which the event loop works, over which the process is: above 0, below 1. Default none. */
  readonly eventLoopUtilization?: number | undefined;
  /** The bytes of the heap in use, over which the process is: a whole number from 1. Default none. */
  readonly heapUsed?: number | undefined;
  /**
   * Returns whether the process is over a threshold of yours, such as the length of a queue. Default none. Called ten times in a
   * `window`, however many requests come. If it throws or returns no boolean, the process counts as not over it.
   */
  readonly check?: (() => boolean) | undefined;
  /** The moving window over which values are means: `'100ms'` to `'1m'` in whole milliseconds, default `'500ms'`. */
  readonly window?: Duration | undefined;
  /** How long a rejected client waits, by `Retry-After`: `'1s'` to `'1h'` in whole milliseconds, sent in whole seconds. Default `'5s'`. */
  readonly retryAfter?: Duration | undefined;
  /**
   * Whether the module's `middleware` sheds, too, before its own policies are charged. Default false. It needs a function
   * `priority`: `@SkipRateLimit` is not known before routing, so the function has to return nothing for health checks.
   */
  readonly beforeRouting?: boolean | undefined;
}

/** The options that cannot come from a factory of `forRootAsync`. */
export interface RateLimitModuleExtras {
  /** Whether the guard is registered for all routes (`APP_GUARD`). Default true. */
  guard?: boolean | undefined;
}

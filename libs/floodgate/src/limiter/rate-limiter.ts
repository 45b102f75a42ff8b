import type { CallOptions, LookOptions } from '../charges/call-options.js';
import type { Duration } from '../util/duration.js';
import type { Identity } from '../identity/identity.js';
import type { RateLimitStats } from '../watch/stats.js';
import type { Decision } from '../policy/decision.js';
import type { ExpiryOptions } from '../policy/expiry.js';
import type { LimitExplanation } from '../operate/explain/explanation.js';
import type { LimitReference } from '../operate/explain/limit-references.js';
import type { LimitTable } from '../operate/explain/limit-table.js';
import type { ScheduledCalls } from '../scheduling/scheduled-calls.js';
import type { ScheduleOptions } from '../scheduling/schedule-options.js';
import type { Lease } from '../holds/leases/lease.js';
import type { Reservation } from '../holds/settlements/reservation.js';
import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { LimitLooks, LimitTarget } from '../operate/limit-looks.js';
import type { PlanChanges } from '../operate/plans/plan-changes.js';
import type { LimiterCalls } from '../engine/calls/limiter-calls.js';
import type { ResetState } from '../operate/reset-states.js';

/** Sets the headers of a decision on a response, as the framework knows it. */
export interface HeaderSetter {
  /** @returns false if no response can take them */
  set(target: object, decision: Decision): boolean;
}

/** The limiter as something that runs. */
export interface RunningLimiter {
  stats(): RateLimitStats;
  start(): Promise<void>;
  end(): Promise<void>;
}

/**
 * Decides without HTTP: in queue consumers, jobs and gateways. Its policies need a name, and count across the application
 * (scope `'app'`): a route whose policy has that scope and name shares their state.
 *
 * All methods that count or look take `(policies or route, identity, options)`. Policies that are all `by: 'global'` need no
 * identity.
 *
 * @example
 * ```ts
 * const decision = await limiter.consume('emails', { kind: 'user', value: user.id }, { cost: recipients.length });
 * if (!decision.allowed) await retryIn(decision.retryAfterMs);
 * ```
 */
export class RateLimiter {
  /** @internal The module makes it; inject it. */
  constructor(
    private readonly calls: LimiterCalls,
    private readonly looks: LimitLooks,
    private readonly scheduled: ScheduledCalls,
    private readonly plans: PlanChanges,
    private readonly headers: HeaderSetter,
    private readonly parts: RunningLimiter,
  ) {}

  /** The short form, for policies that are all `by: 'global'`. */
  consume(policies: LimiterPolicy | readonly LimiterPolicy[]): Promise<Decision>;
  /**
   * Charges every policy, or none.
   *
   * @param policies one or several, each with a name; their `skipIf` needs a request and is not asked
   * @param identity the identity to count; null where all policies are `by: 'global'`, which count all clients together
   * @throws {RateLimitConfigError} for a wrong or unknown option or policy, a policy without a name, a plan, a time zone or a class
   *   that no policy needs, policies with plans when neither the call nor the module has a plan, and a concurrency policy (use
   *   `acquire`); nothing is charged
   * @throws {LimiterUnavailableError} when the store fails and `onStoreFailure` is `'closed'`
   * @example
   * const { allowed, retryAfterMs } = await limiter.consume('emails', { kind: 'user', value: user.id });
   * if (!allowed) await retryIn(retryAfterMs);
   */
  consume(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    options?: CallOptions,
  ): Promise<Decision>;
  consume(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions,
  ): Promise<Decision> {
    return this.calls.consume(policies, identity, options);
  }

  /** The short form, for policies that are all `by: 'global'`. */
  consumeSync(policies: LimiterPolicy | readonly LimiterPolicy[]): Decision;
  /**
   * Decides without a promise. Works with stores that answer synchronously: `MemoryStore`, or a store of the application whose
   * `consume` returns no promise. Errors are thrown.
   *
   * @throws what `consume` rejects with; {RateLimitConfigError} when the store answers with a promise, as `RedisStore` does; nothing is
   *   charged
   * @example if (!limiter.consumeSync('events', { kind: 'user', value: user.id }).allowed) return;
   */
  consumeSync(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    options?: CallOptions,
  ): Decision;
  consumeSync(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions,
  ): Decision {
    return this.calls.consumeSync(policies, identity, options);
  }

  /** The short form, for policies that are all `by: 'global'`. */
  reserve(policies: LimiterPolicy | readonly LimiterPolicy[]): Promise<Reservation>;
  /**
   * Charges every policy, or none, for a cost that is known later. Call `settle` or `cancel` then: until that call the reserved
   * cost stays charged. With a leaky bucket, the caller waits for `delayMs` itself.
   *
   * @param policies one or several, each with a name; their `skipIf` needs a request and is not asked
   * @param identity the identity to count; null where all policies are `by: 'global'`, which count all clients together
   * @throws as `consume` does
   * @example
   * const reservation = await limiter.reserve('tokens', { kind: 'user', value: user.id }, { cost: 2_000 });
   * if (reservation.allowed) {
   *   const { usage } = await answer(prompt);
   *   await reservation.settle(usage.total);
   * }
   */
  reserve(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    options?: CallOptions & ExpiryOptions,
  ): Promise<Reservation>;
  reserve(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions & ExpiryOptions,
  ): Promise<Reservation> {
    return this.calls.reserve(policies, identity, options);
  }

  /** The short form, for policies that are all `by: 'global'`. */
  acquire(policies: LimiterPolicy | readonly LimiterPolicy[]): Promise<Lease>;
  /**
   * Charges every policy, or none, and holds the leases of a `concurrency` until `release` is called. Release in `finally`: a lease that
   * is not released is renewed as long as the process runs. Throws as `consume` does.
   *
   * @param policies one or several, each with a name; at least one of them a `concurrency`
   * @example
   * const lease = await limiter.acquire('exports', { kind: 'user', value: user.id });
   * try {
   *   if (lease.allowed) await exportAll();
   * } finally {
   *   await lease.release();
   * }
   */
  acquire(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    options?: CallOptions,
  ): Promise<Lease>;
  acquire(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity?: Identity | null,
    options?: CallOptions,
  ): Promise<Lease> {
    return this.calls.acquire(policies, identity, options);
  }

  /** The short form, for policies that are all `by: 'global'`. */
  schedule<T>(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    fn: () => T | PromiseLike<T>,
    options?: ScheduleOptions<T>,
  ): Promise<T>;
  /**
   * Waits for its turn, charges every policy, runs `fn` and returns its result: for the calls that the application sends. Calls of one
   * policy and identity run in the order in which they came to this process. A leaky bucket gives each its departure slot. A call waits
   * for a block of its identity (`blockFor`), and its own rejections lead to none.
   *
   * Once `fn` has ended, a concurrency is released, and a `cost` that is a function, or the policy's `settle` or `countIf`, is
   * settled, for which the call does not wait. When `fn` throws, its error is passed on, and the charge stays unless the policy's
   * `settle` or `countIf` says otherwise: the call may have reached the other side.
   *
   * @param policies one or several, each with a name; a `concurrency` as well
   * @param identity the identity to count; null where all policies are `by: 'global'`
   * @throws {CallWaitError} when it gets no turn within `maxWait`: at once if that is certain
   * @throws {CallQueueFullError} when `maxQueuedCalls` wait in this process
   * @throws {LimiterClosedError} when the application shuts down before its turn
   * @throws {RateLimitConfigError} when its cost can never fit
   * @throws the signal's reason when it is aborted before its turn; {RateLimitConfigError} as `consume` does
   * @example
   * const invoice = await limiter.schedule('partner', null, () => partner.createInvoice(order), { maxWait: '5s' });
   */
  schedule<T>(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    fn: () => T | PromiseLike<T>,
    options?: ScheduleOptions<T>,
  ): Promise<T>;
  schedule<T>(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    first: Identity | null | (() => T | PromiseLike<T>),
    second?: (() => T | PromiseLike<T>) | ScheduleOptions<T>,
    third?: ScheduleOptions<T>,
  ): Promise<T> {
    // This is not an async function, which would add a promise to every call.
    try {
      return Promise.resolve(this.scheduled.schedule(policies, first, second, third));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Pauses policies for an identity: the calls of `schedule` wait until the pause has ended. This process pauses at once, all others
   * as soon as Redis has noted the pause. `explain` shows it, and `reset` ends it. Use it when the other side says so; `limitedFetch` and
   * `limitedAxios` do.
   *
   * @param identity as in `consume`; null where all policies are `by: 'global'`
   * @param options.for how long: milliseconds, or text such as `'30s'`, from 1 ms to 100 years. A longer pause stays
   * @returns whether all processes are known to pause; false: this one does, a warning is logged, and Redis may have noted the pause all the
   *   same. It does not reject because of the store
   * @throws {RateLimitConfigError} for a wrong option
   * @example if (response.status === 429) await limiter.pause('partner', null, { for: '30s' });
   */
  pause(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity | null,
    options: { for: Duration },
  ): Promise<boolean> {
    return this.scheduled.pause(policies, identity, options);
  }

  /**
   * Says that a client has another plan, such as after a purchase. The client's next request asks the module's `plan.resolve` anew, in
   * this process at once, and in every other one within a second. Call it once the purchase is stored. Without it, a change counts after
   * `plan.cacheFor`.
   *
   * @param identity the identity that policies with plans count, or its tag such as `'user:ada'`
   * @throws {RateLimitConfigError} when the module has no `plan`, or no policy with plans counts such an identity
   * @throws {RateLimitStoreError} when Redis does not answer: other processes may ask after `cacheFor` only
   * @example
   * await subscriptions.upgrade(user.id, 'pro');
   * await limiter.planChanged({ kind: 'user', value: user.id });
   */
  planChanged(identity: Identity | string): Promise<void> {
    return this.plans.changed(identity);
  }

  /** The short form, for policies that are all `by: 'global'`. */
  peek(target: LimitTarget): Promise<Decision>;
  /**
   * Returns what `consume` with cost 1, or a request to a route, would answer. Charges nothing: `allowed`, `retryAfterMs` and
   * `delayMs` are those of cost 1, `remaining` and `resetAfterMs` those of the untouched state. A policy's `skipIf` needs a
   * request and is not asked.
   *
   * @param target policies as in `consume`, or a route as in `explain`: its policies, and those of the module's `middleware`
   *   that count such an identity. A route without policies gets an allowed decision with an empty list
   * @param identity the identity, or its tag such as `'user:rider-1'`; null where all policies are `by: 'global'`
   * @throws as `consume` does, and {RateLimitConfigError} when the class has no such handler, or a function chooses the route's policies
   * @example const { allowed, retryAfterMs } = await limiter.peek('emails', { kind: 'user', value: user.id });
   */
  peek(target: LimitTarget, identity: Identity | string | null, options?: LookOptions): Promise<Decision>;
  peek(target: LimitTarget, identity?: Identity | string | null, options?: LookOptions): Promise<Decision> {
    return this.looks.peek(target, identity, options);
  }

  /** The short form, for policies that are all `by: 'global'`. */
  reset(target: LimitTarget): Promise<readonly ResetState[]>;
  /**
   * Clears the states of an identity under the named policies, or under those that a request to a route meets. Named policies are cleared
   * wherever they stand, and those of a route include the module's `middleware`. It clears them for every plan and time zone, with their
   * blocks. A state that other routes share is cleared for them, too. Overrides stay.
   *
   * A route's policies that count all clients together (`by: 'global'`) are left as they are, unless no identity is given; name
   * such a policy to clear it.
   *
   * @param target policies as in `consume`, also the name of a policy that stands on routes alone, or a route as in `explain`
   * @param identity as in `peek`
   * @returns the states, and of each whether there was one (`found`); nothing for a route that no policy limits
   * @throws {RateLimitConfigError} for an unknown name, a wrong policy, and an identity that nothing counts there: of a misspelt or another
   *   kind, or an `ip` that is no address
   * @throws {RateLimitConfigError} when the class has no such handler, or a function chooses the route's policies by the request
   * @example await limiter.reset('login', { kind: 'user', value: user.id });
   */
  reset(target: LimitTarget, identity: Identity | string | null): Promise<readonly ResetState[]>;
  reset(target: LimitTarget, identity?: Identity | string | null): Promise<readonly ResetState[]> {
    return this.looks.reset(target, identity);
  }

  /**
   * Lists which policies limit which handlers, as plain data. It includes handlers
   * without a limit. It leaves out policies that a function chooses for each request; the handler's `chosen` is then true.
   *
   * @example const gaps = limiter.table().routes.filter(({ limited }) => !limited);
   */
  table(): LimitTable {
    return this.looks.table();
  }

  /** Explains policies `by: 'global'`. */
  explain(target: LimitReference): Promise<LimitExplanation>;
  /**
   * Explains why an identity is rejected, or is not: its state under each policy, what decides, and when the next request passes. A
   * state has a level, a plan and an override. Charges and counts nothing. A policy's `skipIf` needs a request and is not asked.
   *
   * @param target a policy's name; or a route, `[Controller, 'method']` or its name as in `table()`: what a request to it
   *   meets, the policies of the module's `middleware` first. If a policy and a route have the same name, it means the policy;
   *   `{ policy }` or `{ route }` says which one you mean. Null: every policy of the application that counts such an identity
   * @param identity the identity, or its tag such as `'user:rider-1'`; null where all policies are `by: 'global'`
   * @throws {RateLimitConfigError} for a wrong identity, an unknown name, or a plan or a time zone that no policy needs
   * @throws {RateLimitConfigError} when the class has no such handler, or for another option
   * @example const { isRejected, passesAt } = await limiter.explain('POST /rides', { kind: 'user', value: user.id });
   */
  explain(
    target: LimitReference | null,
    identity: Identity | string | null,
    options?: LookOptions,
  ): Promise<LimitExplanation>;
  explain(
    target: LimitReference | null,
    identity?: Identity | string | null,
    options?: LookOptions,
  ): Promise<LimitExplanation> {
    return this.looks.explain(target, identity, options);
  }

  /**
   * Sets the headers of a decision on a handler's response, as the guard does. They have the module's format, and a rejection also
   * has `Retry-After` and `Cache-Control: no-store`. If the route has policies of its own, `X-RateLimit-*` describe the
   * policy with the smallest share left, and the lists of the draft name all policies. `RateLimitExceededException` sets these
   * headers by itself.
   *
   * @param target the response of Express, Fastify or Node, as of `@Res({ passthrough: true })`, or the `ExecutionContext`
   * @param decision of `consume` or `peek`; that of a reservation or a lease is its `decision`
   * @returns false where the response has been sent, or the context has none
   * @throws {RateLimitConfigError} for a target that is neither
   * @example
   * const decision = await limiter.consume('emails', { kind: 'user', value: user.id });
   * limiter.setHeaders(response, decision);
   */
  setHeaders(target: object, decision: Decision): boolean {
    return this.headers.set(target, decision);
  }

  /**
   * Returns the counters of this process, which `RateLimitMetricsModule` exports as metrics.
   *
   * @example const { requests, rejected, store } = limiter.stats();
   */
  stats(): RateLimitStats {
    return this.parts.stats();
  }

  /**
   * Connects the store, and starts what runs by itself. `RateLimitModule` calls it at boot: call it for one of `createLimiter`.
   *
   * @throws {LimiterClosedError} after `close`
   * @example await limiter.start();
   */
  start(): Promise<void> {
    return this.parts.start();
  }

  /**
   * Rejects the calls that wait, and ends what runs by itself and the store that the limiter has opened. `RateLimitModule` does
   * this at shutdown: call it for one of `createLimiter`, after its server has closed. Later calls get a `LimiterClosedError`, and
   * requests of a server without Nest a 503.
   *
   * @example await limiter.close();
   */
  close(): Promise<void> {
    return this.parts.end();
  }
}

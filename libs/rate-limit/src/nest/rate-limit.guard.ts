import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Counted } from '../limiter/request-record.js';
import type { Decision } from '../policy/decision.js';
import { rateLimitHeaders, retryAfterSeconds } from '../http/headers.js';
import { RateLimitExceededException, RateLimitUnavailableException } from './exceptions.js';
import { shown } from '../util/config-error.js';
import { tagOf } from '../policy/key.js';
import type { BoundPolicy, Route } from './route-policies.js';
import type { Charge } from '../stores/store.js';
import { closablesOf, requestOf, responseOf } from './http-context.js';
import { isPromise } from '../util/is-promise.js';
import { reasonOf } from '../util/rationed-warning.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';

/**
 * Limits the routes that `@RateLimit`, a class's `@RateLimit` or the module's `defaults` name. Registered for all routes by
 * `RateLimitModule`, unless `guard: false`: then bind it, or a subclass of it, yourself.
 *
 * Made to be extended: `shouldSkip`, `identityTag`, `setHeaders` and `refuse` are its steps.
 *
 * @example
 * ```ts
 * \@Injectable()
 * class InternalsPass extends RateLimitGuard {
 *   protected override shouldSkip(context: ExecutionContext) {
 *     return isInternal(context.switchToHttp().getRequest());
 *   }
 * }
 * ```
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    @Inject(RateLimitRuntime) protected readonly runtime: RateLimitRuntime,
    @Inject(HttpAdapterHost) protected readonly adapterHost: HttpAdapterHost,
  ) {}

  /**
   * @throws {RateLimitExceededException} 429, when a policy refuses
   * @throws {RateLimitIdentityMissingException} 401, when nobody is there to count and `onMissingIdentity` is `'refuse'`
   * @throws {RateLimitUnavailableException} 503, when the store fails and `onStoreFailure` is `'closed'`, when too many
   *   requests wait (nothing is charged then), or while closing
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const route = this.runtime.routes.of(context.getClass(), context.getHandler());
    if (route === undefined || !this.runtime.firstTime(requestOf(context))) return true;
    const skipped = this.shouldSkip(context);
    if (typeof skipped === 'boolean') return skipped || this.limit(route, context);
    return skipped.then((skip) => skip || this.limit(route, context));
  }

  /** Requests for which it is true are not counted by any policy. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /** Whom the policy counts: what stands between the braces of its key. `identityTag` of a `{ kind, value }` makes one. */
  protected identityTag(policy: BoundPolicy, context: ExecutionContext): string | Promise<string> {
    return this.runtime.identities.tag(policy, context);
  }

  /** Sets the headers of an allowed or refused request. The policies of the module's `middleware` come first among its own. */
  protected setHeaders(context: ExecutionContext, decision: Decision): void {
    const { httpAdapter } = this.adapterHost;
    const response = responseOf(context);
    if (this.runtime.options.headers) {
      const { limit, remaining, reset } = rateLimitHeaders(decision, Date.now());
      httpAdapter.setHeader(response, 'X-RateLimit-Limit', limit);
      httpAdapter.setHeader(response, 'X-RateLimit-Remaining', remaining);
      httpAdapter.setHeader(response, 'X-RateLimit-Reset', reset);
    }
    if (!decision.allowed && decision.retryAfterMs !== null) {
      httpAdapter.setHeader(response, 'Retry-After', String(retryAfterSeconds(decision.retryAfterMs)));
    }
  }

  /** Answers a refused request, by throwing. */
  protected refuse(_context: ExecutionContext, decision: Decision): never | Promise<never> {
    throw new RateLimitExceededException(decision);
  }

  /**
   * @internal What is done for a request that some policies limit, on a route or before routing. What needs no waiting is not
   * awaited: each turn of the promise queue would be paid by every request.
   */
  limit(route: Route, context: ExecutionContext): boolean | Promise<boolean> {
    this.runtime.forwarded.see(requestOf(context));
    const { fixed } = route;
    if (fixed === undefined) return this.limitChosen(route, context);
    const charges: Charge[] = [];
    for (let i = 0; i < fixed.length; i++) {
      const tag = this.identityTag(fixed[i]!, context);
      if (typeof tag === 'object') return this.limitLater(fixed, charges, context, tag);
      charges.push(this.charge(fixed[i]!, tag, fixed[i]!.cost as number));
    }
    return this.decide(fixed, charges, context);
  }

  private async limitChosen(route: Route, context: ExecutionContext): Promise<boolean> {
    const chosen = await route.policies(context);
    const skipped = await Promise.all(chosen.map((policy) => this.skips(policy, context)));
    const policies = chosen.filter((_, i) => !skipped[i]);
    return policies.length === 0 || this.limitLater(policies, [], context);
  }

  /** A `skipIf` that fails has not said that the request need not be counted. */
  private async skips({ name, skipIf }: BoundPolicy, context: ExecutionContext): Promise<boolean> {
    try {
      return (await skipIf?.(context)) ?? false;
    } catch (error) {
      this.runtime.skipFailed.warn(`skipIf of policy '${name}' failed, the request is counted: ${reasonOf(error)}`);
      return false;
    }
  }

  /** @param found whom the first policy without a charge counts, when that was asked already */
  private async limitLater(
    policies: readonly BoundPolicy[],
    charges: Charge[],
    context: ExecutionContext,
    found?: Promise<string>,
  ): Promise<boolean> {
    for (let i = charges.length, asked = found; i < policies.length; i++, asked = undefined) {
      const policy = policies[i]!;
      const { cost } = policy;
      const tag = await (asked ?? this.identityTag(policy, context));
      charges.push(this.charge(policy, tag, typeof cost === 'number' ? cost : await cost(context)));
    }
    return this.decide(policies, charges, context);
  }

  private charge(policy: BoundPolicy, tag: string, cost: number): Charge {
    if (typeof tag === 'string' && tag !== '') return this.runtime.limiter.charge(policy, tag, cost);
    throw new TypeError(`an identity's tag must be text, got ${shown(tag)}`);
  }

  private decide(
    policies: readonly BoundPolicy[],
    charges: readonly Charge[],
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    const counted = this.countedBefore(context);
    if (counted !== undefined) {
      ({ policies, charges } = counted.rest(policies, charges));
      if (policies.length === 0) return true;
    }
    for (let i = 0; i < policies.length; i++) {
      const { algorithm, by } = policies[i]!;
      if (algorithm.name !== 'leaky-bucket') continue;
      return this.decideInQueue(policies, charges, context, by === 'global' ? undefined : tagOf(charges[i]!.key));
    }
    return this.ask(policies, charges, context);
  }

  /** Where a request may have to wait: its place is taken before the store charges it, and given up when it goes. */
  private decideInQueue(
    policies: readonly BoundPolicy[],
    charges: readonly Charge[],
    context: ExecutionContext,
    client: string | undefined,
  ): boolean | Promise<boolean> {
    const { waitingRoom } = this.runtime;
    try {
      waitingRoom.take(client);
    } catch (error) {
      return this.fail(context, error);
    }
    let answer: boolean | Promise<boolean> | undefined;
    try {
      answer = this.ask(policies, charges, context);
    } finally {
      if (!isPromise(answer)) waitingRoom.giveUp(client);
    }
    return isPromise(answer) ? answer.finally(() => waitingRoom.giveUp(client)) : answer;
  }

  private ask(
    policies: readonly BoundPolicy[],
    charges: readonly Charge[],
    context: ExecutionContext,
  ): boolean | Promise<boolean> {
    try {
      const decision = this.runtime.limiter.decide(policies, charges, context);
      if (!isPromise(decision)) return this.conclude(context, policies, charges, decision);
      return decision.then(
        (later) => this.conclude(context, policies, charges, later),
        (error: unknown) => this.fail(context, error),
      );
    } catch (error) {
      return this.fail(context, error);
    }
  }

  private conclude(
    context: ExecutionContext,
    policies: readonly BoundPolicy[],
    charges: readonly Charge[],
    decision: Decision,
  ): boolean | Promise<boolean> {
    const counted = this.countedBefore(context);
    if (!decision.allowed) {
      const whole = counted?.wholeCost;
      if (whole === undefined || decision.decidedBy !== 'store') return this.reject(context, counted, decision);
      return this.rejectForWholeCost(context, whole.policies, whole.charges, decision);
    }
    counted?.charged(policies, charges, decision);
    if (decision.decidedBy !== 'open') this.setHeaders(context, counted?.withEarlier(decision) ?? decision);
    return decision.delayMs === 0 || this.wait(context, charges, decision);
  }

  private reject(
    context: ExecutionContext,
    counted: Counted | undefined,
    decision: Decision,
  ): boolean | Promise<boolean> {
    this.setHeaders(context, counted?.withEarlier(decision) ?? decision);
    return this.refuse(context, decision);
  }

  /** Rejects a request that lacked a difference in cost, with the `retryAfterMs` of all of its cost. */
  private async rejectForWholeCost(
    context: ExecutionContext,
    policies: readonly BoundPolicy[],
    looks: readonly Charge[],
    decision: Decision,
  ): Promise<boolean> {
    let whole: Decision | undefined;
    try {
      whole = await this.runtime.limiter.decide(policies, looks, 'peek');
    } catch {
      // The store has just gone: what it said before is the best there is.
    }
    const answer = whole?.decidedBy === 'store' ? rejectedBy(decision, whole) : decision;
    return this.reject(context, this.countedBefore(context), answer);
  }

  /** Undefined where a request passes once: without the module's `middleware`. */
  private countedBefore(context: ExecutionContext): Counted | undefined {
    return this.runtime.middleware === undefined ? undefined : Counted.of(requestOf(context));
  }

  private async wait(context: ExecutionContext, charges: readonly Charge[], decision: Decision): Promise<boolean> {
    try {
      await this.runtime.waitingRoom.wait(decision.delayMs, closablesOf(context));
      return true;
    } catch (error) {
      this.runtime.limiter.leaveQueue(charges, decision);
      return this.fail(context, error);
    }
  }

  /** A 503 says when to come back, as a 429 does. */
  private fail(context: ExecutionContext, error: unknown): never {
    const { httpAdapter } = this.adapterHost;
    if (error instanceof RateLimitUnavailableException && httpAdapter.isHeadersSent(responseOf(context)) !== true) {
      httpAdapter.setHeader(responseOf(context), 'Retry-After', String(error.retryAfter));
    }
    throw error;
  }
}

/** A rejection with what a look at all of the cost says of the policies that still reject it. */
function rejectedBy(decision: Decision, whole: Decision): Decision {
  const policies = decision.policies.map((policy, i) => (whole.policies[i]!.allowed ? policy : whole.policies[i]!));
  const waits = policies.filter(({ allowed }) => !allowed).map(({ retryAfterMs }) => retryAfterMs ?? Infinity);
  const longest = Math.max(...waits);
  return { ...decision, policies, retryAfterMs: longest === Infinity ? null : longest };
}

import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Decision } from './decision.js';
import { rateLimitHeaders, retryAfterSeconds } from './http/headers.js';
import { RateLimitExceededException, RateLimitUnavailableException } from './http/exceptions.js';
import { shown } from './policy/config-error.js';
import type { BoundPolicy, Route } from './policy/route-policies.js';
import type { Charge } from './stores/store.js';
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
   * @throws {RateLimitUnavailableException} 503, when the store fails and `onStoreFailure` is `'closed'`, or while closing
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const route = this.runtime.routes.of(context.getClass(), context.getHandler());
    return (
      route === undefined || !this.runtime.firstTime(context.switchToHttp().getRequest()) || this.limit(route, context)
    );
  }

  /** Requests for which it is true are not counted by any policy. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /** Whom the policy counts: what stands between the braces of its key. `identityTag` of a `{ kind, value }` makes one. */
  protected identityTag(policy: BoundPolicy, context: ExecutionContext): string | Promise<string> {
    return this.runtime.identities.tag(policy, context);
  }

  /** Sets the headers of an allowed or refused request. */
  protected setHeaders(context: ExecutionContext, decision: Decision): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = context.switchToHttp().getResponse();
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

  /** What needs no waiting is not awaited: each turn of the promise queue would be paid by every request. */
  private async limit(route: Route, context: ExecutionContext): Promise<boolean> {
    const skipped = this.shouldSkip(context);
    if (typeof skipped === 'boolean' ? skipped : await skipped) return true;
    const chosen = route.policies(context);
    let policies = 'then' in chosen ? await chosen : chosen;
    if (policies.some(({ skipIf }) => skipIf !== undefined)) policies = await this.applying(policies, context);
    if (policies.length === 0) return true;
    const charges = await this.charges(policies, context);
    try {
      const decision = await this.runtime.limiter.decide(policies, charges);
      if (decision.decidedBy === 'store') this.setHeaders(context, decision);
      if (!decision.allowed) return await this.refuse(context, decision);
      if (decision.delayMs > 0) await this.runtime.departures.wait(decision.delayMs);
      return true;
    } catch (error) {
      // A 503 says when to come back, as a 429 does.
      if (error instanceof RateLimitUnavailableException) {
        const response: unknown = context.switchToHttp().getResponse();
        this.adapterHost.httpAdapter.setHeader(response, 'Retry-After', String(error.retryAfter));
      }
      throw error;
    }
  }

  private async applying(policies: readonly BoundPolicy[], context: ExecutionContext): Promise<readonly BoundPolicy[]> {
    const skipped = await Promise.all(policies.map(async ({ skipIf }) => (await skipIf?.(context)) ?? false));
    return policies.filter((_, i) => !skipped[i]);
  }

  private async charges(policies: readonly BoundPolicy[], context: ExecutionContext): Promise<Charge[]> {
    const charges: Charge[] = [];
    for (const policy of policies) {
      const found = this.identityTag(policy, context);
      const tag = typeof found === 'string' ? found : await found;
      const { cost: given } = policy;
      const cost = typeof given === 'number' ? given : await given(context);
      if (typeof tag !== 'string' || tag === '')
        throw new TypeError(`an identity's tag must be text, got ${shown(tag)}`);
      charges.push(this.runtime.limiter.charge(policy, tag, cost));
    }
    return charges;
  }
}

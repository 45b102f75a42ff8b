import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Decision } from './decision.js';
import { rateLimitHeaders, retryAfterSeconds } from './http/headers.js';
import { RateLimitExceededException, RateLimitUnavailableException } from './http/exceptions.js';
import { shown } from './policy/config-error.js';
import type { BoundPolicy } from './policy/route-policies.js';
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
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const route = this.runtime.routes.of(context.getClass(), context.getHandler());
    if (route === undefined || (await this.shouldSkip(context))) return true;

    const policies = await this.applying(await route.policies(context), context);
    if (policies.length === 0) return true;
    const decision = await this.decide(policies, context);
    if (decision.decidedBy === 'store') this.setHeaders(context, decision);
    if (!decision.allowed) return this.refuse(context, decision);
    if (decision.delayMs > 0) await this.depart(context, decision.delayMs);
    return true;
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
    if (this.runtime.options.headers) {
      const { limit, remaining, reset } = rateLimitHeaders(decision, Date.now());
      this.setHeader(context, 'X-RateLimit-Limit', limit);
      this.setHeader(context, 'X-RateLimit-Remaining', remaining);
      this.setHeader(context, 'X-RateLimit-Reset', reset);
    }
    if (!decision.allowed && decision.retryAfterMs !== null) {
      this.setHeader(context, 'Retry-After', String(retryAfterSeconds(decision.retryAfterMs)));
    }
  }

  /** Answers a refused request, by throwing. */
  protected refuse(_context: ExecutionContext, decision: Decision): never | Promise<never> {
    throw new RateLimitExceededException(decision);
  }

  private setHeader(context: ExecutionContext, name: string, value: string): void {
    this.adapterHost.httpAdapter.setHeader(context.switchToHttp().getResponse(), name, value);
  }

  private async applying(policies: readonly BoundPolicy[], context: ExecutionContext): Promise<readonly BoundPolicy[]> {
    if (policies.every(({ skipIf }) => skipIf === undefined)) return policies;
    const skipped = await Promise.all(policies.map(async ({ skipIf }) => (await skipIf?.(context)) ?? false));
    return policies.filter((_, i) => !skipped[i]);
  }

  private async decide(policies: readonly BoundPolicy[], context: ExecutionContext): Promise<Decision> {
    const charges: Charge[] = [];
    for (const policy of policies) {
      const tag = await this.identityTag(policy, context);
      const cost = typeof policy.cost === 'number' ? policy.cost : await policy.cost(context);
      if (typeof tag !== 'string' || tag === '')
        throw new TypeError(`an identity's tag must be text, got ${shown(tag)}`);
      charges.push(this.runtime.limiter.charge(policy, tag, cost));
    }
    return this.unavailable(context, () => this.runtime.limiter.decide(policies, charges));
  }

  private async depart(context: ExecutionContext, delayMs: number): Promise<void> {
    await this.unavailable(context, () => this.runtime.departures.wait(delayMs));
  }

  /** A 503 says when to come back, as a 429 does. */
  private async unavailable<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof RateLimitUnavailableException)
        this.setHeader(context, 'Retry-After', String(error.retryAfter));
      throw error;
    }
  }
}

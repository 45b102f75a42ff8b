import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Counted } from '../limiter/request-record.js';
import { beforeRouting, type Middleware } from './before-routing.js';
import { isPromise } from '../util/is-promise.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { Route } from './route-policies.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { reasonOf } from '../util/rationed-warning.js';

/** Limits all HTTP traffic by the module's `middleware` policies before it is routed. Its steps are the guard's own. */
@Injectable()
export class RateLimitMiddleware implements OnModuleInit {
  private readonly steps: RateLimitGuard;
  private unplaced: unknown;

  private readonly use = (policies: Route, ...[request, response, next]: Parameters<Middleware>): void => {
    let passed: boolean | Promise<boolean>;
    try {
      Counted.begin(request);
      // A policy's functions may ask a context for its class and handler: there are some, without metadata.
      const context = new ExecutionContextHost([request, response, next], RateLimitMiddleware, this.use);
      passed = this.steps.limit(policies, context);
    } catch (error) {
      next(asError(error));
      return;
    }
    if (isPromise(passed))
      passed.then(
        () => next(),
        (error: unknown) => next(asError(error)),
      );
    else next();
  };

  constructor(
    @Inject(RateLimitRuntime) runtime: RateLimitRuntime,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
  ) {
    this.steps = new RateLimitGuard(runtime, adapterHost);
    const { middleware } = runtime;
    if (middleware === undefined) return;
    const limit: Middleware = (request, response, next) => this.use(middleware, request, response, next);
    // As soon as there is an adapter, which a testing module gets late: what is used later comes later.
    adapterHost.init$.subscribe(() => {
      const { httpAdapter } = adapterHost;
      // An application context has none.
      if (httpAdapter && !beforeRouting(httpAdapter, limit)) this.unplaced = httpAdapter.getType();
    });
  }

  /** @throws {RateLimitConfigError} when the platform has no place for it */
  onModuleInit(): void {
    if (this.unplaced === undefined) return;
    throw new RateLimitConfigError(
      'RateLimitModule, middleware',
      `works over Express and Fastify, got ${shown(this.unplaced)}: leave it out, and limit in front of the application`,
    );
  }
}

/** To a platform nothing, 0 or `'route'` is no error: what a policy's function throws must not let the request through. */
function asError(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null
    ? thrown
    : new Error(`A policy's function failed: ${reasonOf(thrown)}`);
}

import { Inject, Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Counted } from './counted.js';
import { beforeRouting } from './http/before-routing.js';
import { isPromise } from './is-promise.js';
import { RateLimitConfigError, shown } from './policy/config-error.js';
import type { Route } from './policy/route-policies.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';

/** Limits all HTTP traffic by the module's `middleware` policies before it is routed. Its steps are the guard's own. */
@Injectable()
export class RateLimitMiddleware implements OnModuleInit {
  private readonly steps: RateLimitGuard;
  private unplaced: unknown;

  constructor(
    @Inject(RateLimitRuntime) runtime: RateLimitRuntime,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
  ) {
    this.steps = new RateLimitGuard(runtime, adapterHost);
    const { middleware } = runtime;
    if (middleware === undefined) return;
    // As soon as there is an adapter, which a testing module gets late: what is used later comes later.
    adapterHost.init$.subscribe(() => {
      const { httpAdapter } = adapterHost;
      // An application context has none.
      if (!httpAdapter || beforeRouting(httpAdapter, this.limiting(middleware))) return;
      this.unplaced = httpAdapter.getType();
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

  private limiting(route: Route): Parameters<typeof beforeRouting>[1] {
    return (request, response, next) => {
      let passed: boolean | Promise<boolean>;
      try {
        Counted.begin(request);
        // What a policy's functions may ask of a context is there: a class and a handler, without metadata.
        const context = new ExecutionContextHost([request, response, next], RateLimitMiddleware as Type, beforeRouting);
        passed = this.steps.limit(route, context);
      } catch (error) {
        next(error);
        return;
      }
      if (isPromise(passed)) passed.then(() => next(), next);
      else next();
    };
  }
}

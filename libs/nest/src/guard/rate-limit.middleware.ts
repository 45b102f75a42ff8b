import type { OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import type { ApplicationConfig, DiscoveryService, HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { RateLimitConfigError } from 'floodgate';
import { shown, withHelp } from 'floodgate/internal';
import { isPromise, readable, reasonOf } from 'floodgate/internal-boot';
import { globalGuards, isMadeAnew, preferredGuard, providedGuards } from './application-guard.js';
import { beforeRouting, type Middleware } from './before-routing.js';
import { BEFORE_ROUTING } from '../exchanges/call.js';
import { findCors } from '../contexts/platform.js';
import { isSubclass, RateLimitGuard, GUARD_WORK } from './rate-limit.guard.js';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import type { Route } from '../routes/route-policies.js';
import { RateLimitLogger } from '../handlers/logger.js';

/**
 * Limits all HTTP traffic by the module's `middleware` policies before it is routed. The application's guard answers: a
 * subclass of `RateLimitGuard` skips, sets headers and rejects here as it does on routes.
 */
export class RateLimitMiddleware implements OnModuleInit, OnApplicationBootstrap {
  private guard: RateLimitGuard | undefined;
  private unplaced: unknown;

  private readonly use = (policies: Route, ...[request, response, next]: Parameters<Middleware>): void => {
    let passed: boolean | Promise<boolean>;
    try {
      // The functions of policies may ask a context for its class and handler: these have no metadata.
      const context = new ExecutionContextHost([request, response, next], RateLimitMiddleware, this.use);
      this.guard ??= this.guardOfApplication();
      passed = this.guard[GUARD_WORK].pass(policies, context);
    } catch (error) {
      next(asError(error));
      return;
    }
    if (!isPromise(passed)) {
      next();
      return;
    }
    passed.then(
      () => next(),
      (error: unknown) => next(asError(error)),
    );
  };

  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly discovery: DiscoveryService,
    private readonly application: ApplicationConfig,
    private readonly adapterHost: HttpAdapterHost,
    /** The guard of the middleware, which stays when a test replaces the guard of routes. */
    private readonly plainGuard: RateLimitGuard,
  ) {
    BEFORE_ROUTING.add(this.use);
    const { middleware } = runtime;
    if (middleware === undefined) return;
    const except = new Set(runtime.options.middleware.except);
    const limit: Middleware = (request, response, next) => {
      if (except.size > 0 && except.has(pathOf(request))) next();
      else this.use(middleware, request, response, next);
    };
    // A testing module gets its adapter late: the middleware is placed as soon as there is one.
    adapterHost.init$.subscribe(() => {
      const { httpAdapter } = adapterHost;
      // An application context has no adapter.
      if (httpAdapter && !beforeRouting(httpAdapter, limit)) this.unplaced = httpAdapter.getType();
    });
  }

  /** @throws {RateLimitConfigError} when the platform has no place for a middleware */
  onModuleInit(): void {
    if (this.runtime.middleware !== undefined) this.warnOfScopes();
    if (this.unplaced === undefined) return;
    throw new RateLimitConfigError(
      'RateLimitModule, middleware',
      `works over Express and Fastify, got ${shown(this.unplaced)}: leave it out, and limit in front of the application`,
      'FG_NOT_LIMITED',
    );
  }

  /** `enableCors` may come after the modules have started. */
  onApplicationBootstrap(): void {
    if (this.runtime.middleware === undefined) return;
    findCors(this.adapterHost, () => {
      new RateLimitLogger().warn(
        withHelp(
          'RateLimitModule, middleware: it rejects before CORS sets its headers, so a page of another origin sees a network error in the ' +
            'place of the 429. Limit by the guard what such pages call, or let CORS run first',
          'FG_CORS',
        ),
      );
    });
  }

  /**
   * The guard that is bound for all routes, a subclass first. If none is bound: a subclass that the application provides, else
   * the library's own guard. It is searched at the first request: `useGlobalGuards` comes after boot.
   */
  private guardOfApplication(): RateLimitGuard {
    const global = globalGuards(this.application);
    const guard = preferredGuard(global.length > 0 ? global : providedGuards(this.discovery));
    return guard === undefined || guard.constructor === RateLimitGuard ? this.plainGuard : guard;
  }

  private warnOfScopes(): void {
    const guards = [...this.discovery.getProviders(), ...this.application.getGlobalRequestGuards()].filter(
      (wrapper) => isMadeAnew(wrapper) && isSubclass(wrapper.metatype),
    );
    for (const name of new Set(guards.map((guard) => guard.metatype?.name))) {
      new RateLimitLogger().warn(
        withHelp(
          `RateLimitModule, middleware: ${name} does not answer for it, because Nest makes that guard anew for each request or ` +
            `place: give it the default scope`,
          'FG_OPTION_WITHOUT_EFFECT',
        ),
      );
    }
  }
}

/**
 * The path of a request as its client has spelt it. It is not normalised: the router decides what a spelling means, and a spelling that it
 * takes for another path must not be left out.
 */
function pathOf({ url = '' }: { readonly url?: string }): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The platforms take undefined, 0 and `'route'` for no error. Whatever a function throws must not let the request through. */
function asError(thrown: unknown): object {
  const known = readable(thrown);
  return typeof known === 'object' && known !== null
    ? known
    : new Error(`A policy's function failed: ${reasonOf(known)}`);
}

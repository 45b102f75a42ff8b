import type { HandlerClass, HandlerDirectory, KnownHandler } from 'floodgate/internal';
import { RateLimitConfigError } from 'floodgate';
import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type LimitableHandler, limitableHandlers } from '../contexts/limitable-handlers.js';
import { isExcepted } from './middleware-exceptions.js';
import type { Contexts } from '../contexts/contexts.js';

import { type Handler, handlerNameOf } from '../handlers/route.js';
import type { Route, RoutePolicies } from './route-policies.js';
import { sourcesOf } from './route-sources.js';
import type { PolicySource } from '../types.js';

/** Whether the guard guards a handler. */
export type GuardCheck = (type: Type, handler: object) => boolean;

/** The handlers of the application with what limits them, for `RateLimiter.table` and `explain`. */
export class KnownHandlers implements HandlerDirectory {
  /**
   * @param beforeRouting what limits all traffic
   * @param shedding undefined where the process sheds nothing
   */
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly isGuarded: GuardCheck,
    private readonly contexts: Contexts,
    private readonly routes: RoutePolicies,
    private readonly beforeRouting: { readonly route: Route | undefined; readonly except: readonly string[] },
    private readonly defaults: readonly PolicySource[],
    private readonly shedding: { canShed(type: Type, handler: Handler, route: Route | undefined): boolean } | undefined,
  ) {}

  get middleware(): HandlerDirectory['middleware'] {
    const { route, except } = this.beforeRouting;
    const { staticPolicies, unconditional = [] } = route ?? { staticPolicies: [] };
    return { chosen: staticPolicies === undefined, policies: unconditional, except };
  }

  /** The handlers, listed anew at each call, because modules can be loaded later. */
  handlers(): readonly KnownHandler[] {
    const found = limitableHandlers(this.discovery, this.scanner, this.contexts);
    return Array.from(found, (one) => this.known(one));
  }

  handlerOf(controller: HandlerClass, method: string, where: string): KnownHandler {
    const type = controller as Type;
    const handler: unknown = (type?.prototype as Readonly<Record<string, unknown>> | undefined)?.[method];
    const adapter = typeof handler === 'function' ? this.contexts.adapterOf(type, handler) : undefined;
    if (typeof handler !== 'function' || adapter === undefined) {
      throw new RateLimitConfigError(
        where,
        `${type?.name}.${method} is no handler of a request: it has no decorator of a route, a resolver or a message`,
        'FG_UNKNOWN_ROUTE',
      );
    }
    return this.known({ type, handler, adapter });
  }

  private known({ type, handler, adapter }: Pick<LimitableHandler, 'type' | 'handler' | 'adapter'>): KnownHandler {
    const route = this.routes.of(type, handler);
    const guarded = this.isGuarded(type, handler);
    return {
      context: adapter.type,
      handler: handlerNameOf(type, handler),
      route: this.routes.placeOf(type, handler),
      origin: sourcesOf(type, handler, this.defaults).origin,
      guarded,
      chosen: route !== undefined && route.staticPolicies === undefined,
      sheds: guarded && this.shedding?.canShed(type, handler, route) === true,
      policies: route?.unconditional ?? [],
      countedBefore: adapter.type === 'http' && !isExcepted(type, handler, this.beforeRouting.except),
    };
  }
}

import { type CanActivate, Inject, Injectable, Logger, type OnModuleInit, type Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { ApplicationConfig, DiscoveryService, HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { globalGuards, isMadeAnew, preferredGuard } from './application-guard.js';
import { connectionHandlerOf, connectionOpened, isGateway, turnAway, type WsClient } from './contexts/ws.js';
import { withHelp } from '../util/error-codes.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';

type GatewayWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A gateway's instance, whose method Nest binds when it registers the gateway. */
interface Gateway {
  handleConnection?: (...args: unknown[]) => unknown;
}

/** Limits the connections of WebSocket gateways, which Nest's guards do not reach. */
@Injectable()
export class RateLimitGateways implements OnModuleInit {
  private placed = false;

  constructor(
    @Inject(RateLimitRuntime) private readonly runtime: RateLimitRuntime,
    @Inject(ApplicationConfig) private readonly application: ApplicationConfig,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
  ) {
    adapterHost.init$.subscribe(() => {
      const { httpAdapter } = adapterHost;
      // An application context has none.
      if (httpAdapter) this.beforeGateways(httpAdapter);
    });
  }

  onModuleInit(): void {
    const logger = new Logger('RateLimit');
    for (const wrapper of this.gateways()) {
      const type = wrapper.metatype as Type;
      const handler = connectionHandlerOf(type);
      if (handler === undefined || this.runtime.routes.of(type, handler) === undefined) continue;
      const why = !this.placed
        ? 'an application without an HTTP server'
        : isMadeAnew(wrapper)
          ? 'a gateway that Nest makes anew for each connection'
          : undefined;
      if (why === undefined) continue;
      logger.warn(
        withHelp(
          `${type.name}.handleConnection: connections are not limited in ${why}; limit the gateway's messages`,
          'FG_NOT_LIMITED',
        ),
      );
    }
  }

  /**
   * Nest initialises the adapter after all providers and just before the gateways: it then takes the gateways'
   * `handleConnection`. Its own hooks come later.
   */
  private beforeGateways(adapter: { init?(): unknown }): void {
    const init = adapter.init?.bind(adapter);
    adapter.init = () => {
      if (!this.placed) this.place();
      return init?.();
    };
  }

  private place(): void {
    this.placed = true;
    for (const wrapper of this.gateways()) {
      if (!isMadeAnew(wrapper)) this.limitConnections(wrapper);
    }
  }

  private gateways(): GatewayWrapper[] {
    return this.discovery
      .getProviders()
      .filter(({ metatype }) => typeof metatype === 'function' && isGateway(metatype as Type));
  }

  /** Every connection is noted, limited or not: with ws, its messages have no other way to the headers of the upgrade. */
  private limitConnections(wrapper: GatewayWrapper): void {
    const type = wrapper.metatype as Type;
    const gateway = wrapper.instance as Gateway;
    const own = gateway.handleConnection?.bind(gateway);
    const handler = connectionHandlerOf(type);
    gateway.handleConnection = (...args) => {
      const connection = connectionOpened(args);
      const guard = handler === undefined ? undefined : this.guardOf(wrapper);
      if (guard === undefined || this.runtime.routes.of(type, handler!) === undefined) return own?.(...args);
      const context = new ExecutionContextHost(args, type, handler);
      context.setType('ws');
      const admitted = Promise.resolve(guard.canActivate(context));
      connection.admitted = admitted;
      return admitted.then(
        () => own?.(...args),
        (error: unknown) => turnAway(args[0] as WsClient, this.bodyOf(error)),
      );
    };
  }

  /** The guard that is bound for all routes, or on the class. */
  private guardOf({ metatype, host }: GatewayWrapper): RateLimitGuard | undefined {
    const global = preferredGuard(globalGuards(this.application));
    if (global !== undefined) return global;
    const bound = guardsOf(metatype as Type).map((guard) =>
      typeof guard === 'function' ? host?.injectables.get(guard)?.instance : guard,
    );
    return bound.find((guard): guard is RateLimitGuard => guard instanceof RateLimitGuard);
  }

  /** What the client is told: the body of a rejection, and nothing of other errors. */
  private bodyOf(error: unknown): unknown {
    const told = error as { getError?(): unknown; getResponse?(): unknown };
    if (typeof told.getError === 'function') return told.getError();
    if (typeof told.getResponse === 'function') return told.getResponse();
    new Logger('RateLimit').error(error);
    return { status: 'error', message: 'Internal server error' };
  }
}

function guardsOf(type: Type): readonly (Type | CanActivate)[] {
  return (Reflect.getMetadata(GUARDS_METADATA, type) as readonly (Type | CanActivate)[] | undefined) ?? [];
}

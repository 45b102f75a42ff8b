import { type CanActivate, ForbiddenException, type OnModuleInit, type Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import type { ApplicationConfig, DiscoveryService, HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { globalGuards, isMadeAnew, preferredGuard } from './application-guard.js';
import {
  connectionHandlerOf,
  connectionOpened,
  end,
  isGateway,
  isOpen,
  turnAway,
  waitFor,
  type WsClient,
} from '../contexts/ws.js';
import { rateLimitDecisionOf } from '../decisions/decision-of.js';
import { decisionParameters } from '../decisions/decision-parameters.js';
import { Call } from '../exchanges/call.js';
import { withHelp } from 'floodgate/internal';
import { isPromise, reasonOf } from 'floodgate/internal-boot';
import { isGuard, type RateLimitGuard } from './rate-limit.guard.js';
import type { RateLimitRuntime } from './rate-limit.runtime.js';
import type { Handler } from '../handlers/route.js';
import { RateLimitLogger } from '../handlers/logger.js';

type GatewayWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A gateway's instance, whose method Nest binds when it registers the gateway. */
interface Gateway {
  handleConnection?: (...args: unknown[]) => unknown;
  handleDisconnect?: (...args: unknown[]) => unknown;
}

/** Limits the connections of WebSocket gateways, which Nest's guards do not reach. */
export class RateLimitGateways implements OnModuleInit {
  private readonly logger = new RateLimitLogger();
  private placed = false;

  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly discovery: DiscoveryService,
    private readonly application: ApplicationConfig,
    adapterHost: HttpAdapterHost,
  ) {
    adapterHost.init$.subscribe(() => {
      const { httpAdapter } = adapterHost;
      // An application context has no adapter.
      if (httpAdapter) this.beforeGateways(httpAdapter);
    });
  }

  onModuleInit(): void {
    for (const wrapper of this.gateways()) {
      const type = wrapper.metatype as Type;
      const handler = connectionHandlerOf(type);
      if (handler === undefined || this.runtime.routes.of(type, handler) === undefined) continue;
      const why = !this.placed
        ? 'an application without an HTTP server'
        : isMadeAnew(wrapper)
          ? 'a gateway that Nest makes anew for each connection'
          : undefined;
      if (why !== undefined) this.warnOfConnections(type, why);
    }
  }

  private warnOfConnections({ name }: Type, why: string): void {
    this.logger.warn(
      withHelp(
        `${name}.handleConnection: connections are not limited in ${why}; limit the gateway's messages`,
        'FG_NOT_LIMITED',
      ),
    );
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
      if (isMadeAnew(wrapper)) continue;
      try {
        this.limitConnections(wrapper);
      } catch (error) {
        this.warnOfConnections(
          wrapper.metatype as Type,
          `a gateway that takes no other method (it is frozen, or a proxy: ${reasonOf(error)})`,
        );
      }
    }
  }

  private gateways(): GatewayWrapper[] {
    return this.discovery
      .getProviders()
      .filter(({ metatype, isNotMetatype }) => !isNotMetatype && isGateway(metatype as Type));
  }

  /** Every connection is noted, limited or not: with ws, its messages have no other way to the headers of the upgrade. */
  private limitConnections(wrapper: GatewayWrapper): void {
    const type = wrapper.metatype as Type;
    const gateway = wrapper.instance as Gateway;
    // An arrow function stands on the instance alone.
    const handler = connectionHandlerOf(type) ?? gateway.handleConnection;
    const connect = gateway.handleConnection?.bind(gateway);
    const telling = decisionParameters(type, 'handleConnection');
    const disconnect = gateway.handleDisconnect?.bind(gateway);
    /** The clients that the gateway's own method has seen. */
    const connected = new WeakSet<object>();
    gateway.handleConnection = (...args) => {
      const connection = connectionOpened(args);
      const client = args[0] as WsClient;
      const guard = handler === undefined ? undefined : this.guardOf(wrapper, handler);
      if (guard === undefined || !this.isLimited(type, handler!)) {
        connected.add(client);
        return connect?.(...withDecision(undefined, telling, args));
      }
      const context = new ExecutionContextHost(args, type, handler);
      context.setType('ws');
      const admitted = admit(guard, context);
      waitFor(connection, admitted);
      return admitted.then(
        () => {
          // A client that has left meanwhile would be connected after it was disconnected.
          if (!isOpen(client)) return undefined;
          connected.add(client);
          return handled(context, connect?.(...withDecision(context, telling, args)));
        },
        (error: unknown) => this.turnAway(client, error),
      );
    };
    if (disconnect === undefined) return;
    gateway.handleDisconnect = (...args) => (connected.has(args[0] as object) ? disconnect(...args) : undefined);
  }

  /** Whether policies limit connections, or the module's lists of addresses or its `shed` may turn them away. */
  private isLimited(type: Type, handler: Handler): boolean {
    const { routes, addressLists, shedding } = this.runtime;
    return addressLists !== undefined || shedding?.active === true || routes.of(type, handler) !== undefined;
  }

  /** The guard that is bound for all routes, or on the class or the method. */
  private guardOf({ metatype, host }: GatewayWrapper, handler: object): RateLimitGuard | undefined {
    const global = preferredGuard(globalGuards(this.application));
    if (global !== undefined) return global;
    const bound = [...guardsOf(metatype as Type), ...guardsOf(handler)].map((guard) =>
      typeof guard === 'function' ? host?.injectables.get(guard)?.instance : guard,
    );
    return bound.find(isGuard);
  }

  /** Ends a client's connection. Sends it the body of a rejection, and nothing about other errors. */
  private turnAway(client: WsClient, error: unknown): void {
    try {
      const exception = Object(error) as { getError?(): unknown; getResponse?(): unknown };
      const body = exception.getError?.() ?? exception.getResponse?.();
      if (body === undefined) this.logger.error(error);
      turnAway(client, body ?? { status: 'error', message: 'Internal server error' });
    } catch (failure) {
      this.logger.error(failure);
      end(client);
    }
  }
}

/** Notifies listeners to the connection's end that its handler has run. */
function handled(context: ExecutionContextHost, returned: unknown): unknown {
  const call = Call.of(context);
  if (call === undefined) return returned;
  if (!isPromise(returned)) {
    call.returned(returned);
    call.handled();
    return returned;
  }
  return Promise.resolve(returned).then(
    (value) => {
      call.returned(value);
      call.handled();
      return value;
    },
    (error: unknown) => {
      call.threw(error);
      call.handled();
      throw error;
    },
  );
}

/**
 * The arguments of `handleConnection`, with the decision where a parameter asks for it: Nest passes the client and its upgrade
 * by position, and fills no parameters.
 *
 * @param context undefined where no policy limits connections
 */
function withDecision(
  context: ExecutionContextHost | undefined,
  parameters: readonly number[],
  args: readonly unknown[],
): readonly unknown[] {
  if (parameters.length === 0) return args;
  const decision = context && rateLimitDecisionOf(context);
  const filled = [...args];
  for (const index of parameters) filled[index] = decision;
  return filled;
}

/** Rejects where the guard returns false, as Nest does in its own contexts. */
async function admit(guard: RateLimitGuard, context: ExecutionContextHost): Promise<void> {
  if (!(await guard.canActivate(context))) throw new ForbiddenException('Forbidden resource');
}

function guardsOf(type: object): readonly (Type | CanActivate)[] {
  return (Reflect.getMetadata(GUARDS_METADATA, type) as readonly (Type | CanActivate)[] | undefined) ?? [];
}

import {
  Injectable,
  Logger,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { DiscoveryService, HttpAdapterHost, MetadataScanner } from '@nestjs/core';
import type { Decision } from '../policy/decision.js';
import { decoratedInVain } from './decorators/in-vain.js';
import { WaitingRoom } from '../limiter/waiting-room.js';
import { Connections } from '../http/connections.js';
import type { HttpRequest } from './http-context.js';
import { ForwardedWatch, trustProxyWarning } from '../http/trust-proxy.js';
import type { Identity } from '../identity/identity.js';
import { identityTag } from '../identity/identity-tag.js';
import { IdentityChain } from '../identity/identity-chain.js';
import { Monitor } from '../metrics/monitor.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { NamedPolicies } from '../policy/named-policies.js';
import { type Handler, isRoute } from './route.js';
import { type BoundPolicy, type Route, RoutePolicies } from './route-policies.js';
import type { CheckedOptions } from './options/module-options.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { openStore } from './open-store.js';
import { StoreGateway } from '../limiter/store-gateway.js';

/** Marks a request that was counted. On the request itself: a WeakSet of all of them is a burden to the garbage collector. */
const COUNTED = Symbol('rate limit counted');

/**
 * What the guard and the limiter share, with the module's life: it checks every route's policies at boot, and at shutdown
 * refuses those who wait before the server closes, and closes the store after.
 */
@Injectable()
export class RateLimitRuntime implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  readonly identities: IdentityChain;
  readonly limiter: RateLimiter;
  readonly routes: RoutePolicies;
  /** What limits all HTTP traffic before it is routed; undefined without the module's `middleware`. */
  readonly middleware: Route | undefined;
  readonly waitingRoom: WaitingRoom;
  /** @internal Sees every limited request. */
  readonly forwarded: ForwardedWatch;
  private readonly logger = new Logger('RateLimit');
  /** For a policy's `skipIf` that fails. */
  readonly skipFailed = new RationedWarning(this.logger);
  private readonly policies: NamedPolicies;
  private readonly connections = new Connections();

  private constructor(
    readonly options: CheckedOptions,
    private readonly opened: Awaited<ReturnType<typeof openStore>>,
    /** @internal Sees every decision. */
    readonly monitor: Monitor,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    const { store, deadlines, keepsTime, denials } = opened;
    this.waitingRoom = new WaitingRoom(options);
    this.policies = new NamedPolicies(options.policies);
    this.identities = new IdentityChain(
      options.identity,
      options.onMissingIdentity,
      new RationedWarning(this.logger),
      this.connections,
    );
    const gateway = new StoreGateway(store, deadlines, keepsTime, denials);
    this.limiter = new RateLimiter(options, gateway, this.policies, monitor, this.waitingRoom);
    const warn = (message: string): void => this.logger.warn(message);
    this.forwarded = new ForwardedWatch(adapterHost, warn);
    this.routes = new RoutePolicies(this.policies, options.defaults, options.keyPrefix, this.identities, warn);
    this.middleware = this.routes.beforeRouting(options.middleware);
  }

  static async create(
    options: CheckedOptions,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
    adapterHost: HttpAdapterHost,
  ): Promise<RateLimitRuntime> {
    // Of a module that is loaded lazily Nest calls no hook: the check of `onModuleInit` does not come.
    if (runtimesOf(discovery).length > 0) throw importedTwice();
    const monitor = new Monitor(options);
    return new RateLimitRuntime(options, await openStore(options, monitor), monitor, discovery, scanner, adapterHost);
  }

  async onModuleInit(): Promise<void> {
    for (const policy of this.policies) {
      for (const warning of policy.warnings) this.logger.warn(`'${policy.name}': ${warning}`);
      this.monitor.policies.of(policy);
    }
    if (runtimesOf(this.discovery).length > 1) throw importedTwice();
    for (const policy of this.middleware?.fixed ?? []) this.expect(policy, 'RateLimitModule, middleware');
    for (const { metatype } of this.discovery.getControllers()) {
      if (typeof metatype !== 'function') continue;
      const prototype = metatype.prototype as Readonly<Record<string, Handler>>;
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[method]!;
        if (!isRoute(handler)) continue;
        const route = this.routes.of(metatype as Type, handler);
        for (const policy of route?.fixed ?? []) this.expect(policy, `${metatype.name}.${method}`);
      }
    }
    for (const place of decoratedInVain(this.discovery, this.scanner)) {
      this.logger.warn(
        `${place}: @RateLimit has no effect there, it limits handlers of HTTP routes; count others with RateLimiter.consume`,
      );
    }
    this.connections.watch(this.adapterHost);
    this.logTrustedHeaders();
    if (this.middleware !== undefined && this.connections.takesUpgrades(this.adapterHost)) {
      this.logger.warn(
        `RateLimitModule, middleware: WebSocket upgrades go straight to what listens for them and are not counted; limit ` +
          `them there, with RateLimiter.consume in the gateway's handleConnection`,
      );
    }
    const proxies = trustProxyWarning(this.adapterHost);
    if (proxies !== undefined) this.logger.warn(proxies);
    if (this.opened.warning !== undefined) this.logger.warn(this.opened.warning);
    await this.opened.store.connect?.();
    this.logger.log(this.opened.description);
  }

  private logTrustedHeaders(): void {
    const headers = new Set((this.options.identity ?? []).flatMap(({ header }) => header ?? []));
    if (headers.size === 0) return;
    this.logger.log(
      `Identities are taken from the headers ${[...headers].join(', ')}: a gateway must set or remove each of them, or clients invent identities`,
    );
  }

  /** A policy is counted from zero, not from its first request on. */
  private expect(policy: BoundPolicy, place: string): void {
    this.monitor.policies.of(policy);
    this.warnOfPlaces(policy, place);
  }

  /** A queue that is longer than the requests that may wait in a process answers 503 before it is full. */
  private warnOfPlaces({ name, algorithm, by, cost }: BoundPolicy, place: string): void {
    const option = by === 'global' ? 'maxWaiting' : 'maxWaitingPerClient';
    const places = Math.floor(algorithm.limit / (Number(cost) || 1));
    if (algorithm.name !== 'leaky-bucket' || !(places > this.options[option])) return;
    this.logger.warn(
      `${place}: of the ${places} requests that fit the queue of policy '${name}', ${this.options[option]} at most ` +
        `can wait in one process: ${option} is ${this.options[option]}`,
    );
  }

  /**
   * What a request of cost 1 to a route would be told, without charging anything, as `RateLimiter.peek` does for policies
   * outside of routes: for support tools and dashboards. A policy with a `skipIf` is looked at all the same.
   *
   * @param controller the class through which the route is reached
   * @param method the name of its handler
   * @param identity whom the policies count; those with `by: 'global'` count everybody together
   * @returns undefined for a route that nothing limits
   * @throws {TypeError} when the class has no such handler, or a function chooses the route's policies by the request
   * @throws {RateLimitUnavailableException} when the store fails and `onStoreFailure` is `'closed'`
   * @example const decision = await runtime.peek(RidesController, 'request', { kind: 'user', value: 'rider-1' });
   */
  async peek(controller: Type, method: string, identity: Identity): Promise<Decision | undefined> {
    const handler: unknown = controller.prototype[method];
    const place = `${controller.name}.${method}`;
    if (typeof handler !== 'function' || !isRoute(handler))
      throw new TypeError(`${place} is no handler of an HTTP route`);
    const route = this.routes.of(controller, handler);
    if (route === undefined) return undefined;
    if (route.given === undefined) {
      throw new TypeError(`${place} has policies that a function chooses: there is none without a request`);
    }
    const tag = identityTag(identity);
    return this.limiter.decide(
      route.given,
      route.given.map((policy) => this.limiter.charge(policy, tag, 0)),
      'peek',
    );
  }

  /** Whether a request comes by for the first time: a guard that is bound twice counts it once. */
  firstTime(request: HttpRequest & { [COUNTED]?: true }): boolean {
    if (request[COUNTED] === true) return false;
    request[COUNTED] = true;
    return true;
  }

  onModuleDestroy(): void {
    this.waitingRoom.close();
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.opened.owned) await this.opened.store.close?.();
  }
}

function runtimesOf(discovery: DiscoveryService): unknown[] {
  return discovery.getProviders().filter(({ instance }) => instance instanceof RateLimitRuntime);
}

function importedTwice(): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitModule',
    'is imported twice with options: once, in the root module, is right',
  );
}

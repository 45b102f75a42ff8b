import type {
  ExecutionContext,
  INestApplicationContext,
  OnApplicationShutdown,
  OnModuleDestroy,
  OnModuleInit,
} from '@nestjs/common';
import type { ApplicationConfig, DiscoveryService, HttpAdapterHost, MetadataScanner } from '@nestjs/core';
import type { ErrorCode, RateLimitStore } from 'floodgate';
import type { OpenApiDocument } from 'floodgate/http';
import { type HeaderSettings, type Logger, type OpenedStore, withHelp } from 'floodgate/internal';
import {
  AddressLists,
  ClockOffset,
  Connections,
  ForwardedWatch,
  ipv6PrefixOf,
  LimiterParts,
  Monitor,
  NamedPolicies,
  openStore,
  overridingStore,
  Plans,
  PolicyFunctions,
  readsAddressHeader,
  takesUpgrades,
  trustProxyWarning,
  UserFunctions,
} from 'floodgate/internal-boot';
import { GuardWork } from '../guard/guard-work.js';
import type { RateLimitGuard } from '../guard/rate-limit.guard.js';
import { findsIdentities, isGuarded } from '../guard/application-guard.js';
import { limitableHandlers } from '../contexts/limitable-handlers.js';
import { guardsInVain, warningsOfHandlers } from '../boot/boot-checks.js';
import { Contexts } from '../contexts/contexts.js';
import { untoldDecisions } from '../binding/untold-decisions.js';
import { linkReplies } from '../contexts/fastify-replies.js';
import { Operations } from '../contexts/operations.js';
import { expectAlone } from './single-runtime.js';
import { DecisionHeaders } from '../guard/decision-headers.js';
import { requestOf } from '../contexts/http-context.js';
import { addressChain, goneClients, identityChain } from '../guard/identity-chain.js';
import { type GuardCheck, KnownHandlers } from '../routes/known-handlers.js';
import { LateIdentities } from '../guard/late-identities.js';
import { documentAnswers } from '../openapi/document-answers.js';
import { type CheckedOptions, checkOptions } from '../options/check-options.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import { planSettings } from '../options/plan-settings.js';
import { shedSettings } from '../options/shed-settings.js';
import { ShedRequests } from '../shed/shed-requests.js';
import { skippedButCounted } from '../routes/middleware-exceptions.js';
import { checkRoutes } from '../boot/route-checks.js';
import { serverOf, trustProxyOf } from '../contexts/platform.js';
import { type Route, RoutePolicies } from '../routes/route-policies.js';
import { replacedDefaults, scopeOf, sourcesOf, unguardedHandlers } from '../routes/route-sources.js';
import type { IdentityChain, PolicySource } from '../types.js';
import { RateLimitLogger } from '../handlers/logger.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

const UPGRADES =
  `RateLimitModule, middleware: WebSocket upgrades go straight to their listener and are not counted. Limit them ` +
  `with @RateLimit on the gateway's handleConnection`;

/**
 * Puts the limiter together from the module's options, and gives it the module's life: it checks every route's policies at
 * boot, rejects the requests that wait before the server closes, and closes the store at shutdown.
 */
export class AssembledRuntime extends RateLimitRuntime implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  readonly parts: LimiterParts;
  readonly identities: IdentityChain;
  readonly routes: RoutePolicies;
  readonly policyFunctions: PolicyFunctions<ExecutionContext>;
  readonly plans: Plans<ExecutionContext> | undefined;
  readonly middleware: Route | undefined;
  readonly addressLists: AddressLists<ExecutionContext> | undefined;
  readonly shedding: ShedRequests | undefined;
  readonly contexts: Contexts;
  readonly operations = new Operations();
  readonly headers: HeaderSettings;
  readonly forwarded: ForwardedWatch;
  private readonly policies: NamedPolicies<ExecutionContext>;
  private readonly connections = new Connections();
  readonly hasGone = goneClients(this.connections);
  private readonly guards: GuardCheck = (type, handler) => isGuarded(this.application, type, handler);
  private readonly unknownContexts = new Set<string>();

  private constructor(
    readonly options: CheckedOptions,
    opened: OpenedStore,
    monitor: Monitor,
    private readonly logger: Logger,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly adapterHost: HttpAdapterHost,
    private readonly application: ApplicationConfig,
  ) {
    super();
    const { defaults } = options;
    const functions = new UserFunctions(options.deadlineMs, monitor, logger);
    this.plans = options.plan && new Plans(planSettings(options.plan), requestOf, functions, monitor);
    this.headers = {
      headers: options.headers,
      offset: new ClockOffset(),
    };
    const addresses = addressChain(options, functions, this.hasGone);
    this.addressLists = AddressLists.of(options, 'RateLimitModule', requestOf, functions, monitor, addresses);
    const policies = (this.policies = new NamedPolicies<ExecutionContext>(options.policies, 'RateLimitModule'));
    const late = new LateIdentities(
      () => this.identities,
      (policy) => monitor.identityMissing(policy),
      logger,
    );
    this.identities = identityChain(options, functions, this.hasGone, late);
    this.forwarded = new ForwardedWatch(
      () => this.trustProxy(),
      (message) => logger.warn(message),
    );
    this.contexts = new Contexts(options.contexts);
    this.routes = new RoutePolicies(
      policies,
      defaults,
      opened.sealing?.keys ?? options.keyPrefix,
      this.identities,
      functions,
      logger,
      this.plans !== undefined,
    );
    this.middleware = this.routes.beforeRouting(options.middleware.policies);
    const shed = options.shed && shedSettings(options.shed, options.middleware.policies);
    this.shedding = shed && new ShedRequests(shed, functions, logger, this.middleware);
    this.policyFunctions = new PolicyFunctions<ExecutionContext>(functions, requestOf);
    this.parts = new LimiterParts(
      options,
      opened,
      monitor,
      functions,
      {
        policies,
        routes: this.routes,
        handlers: new KnownHandlers(
          discovery,
          scanner,
          this.guards,
          this.contexts,
          this.routes,
          { route: this.middleware, except: options.middleware.except ?? [] },
          defaults,
          this.shedding,
        ),
        headers: new DecisionHeaders(adapterHost, this.headers, this.contexts),
        plans: this.plans,
        timeZones: this.policyFunctions.timeZones,
        kinds: (options.identity ?? []).map(({ kind }) => kind),
        ipv6Prefix: ipv6PrefixOf(options.identity ?? [], 'RateLimitModule'),
        findsIdentities: () => {
          const handlers = [...limitableHandlers(discovery, scanner, this.contexts)];
          return handlers.some(({ type, handler }) => findsIdentities(application, type, handler));
        },
        stats: () => this.shedding?.stats() ?? {},
      },
      logger,
    );
  }

  guardWork(guard: RateLimitGuard): GuardWork {
    return new GuardWork(this, guard, this.adapterHost);
  }

  document(document: OpenApiDocument, app: INestApplicationContext): void {
    documentAnswers(document, app, this);
  }

  /**
   * @param given the module's options, to be checked
   * @param override a store that replaces the one in the options: then no connection is opened
   */
  static async create(
    given: RateLimitModuleOptions,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
    adapterHost: HttpAdapterHost,
    override: RateLimitStore | null,
    application: ApplicationConfig,
  ): Promise<AssembledRuntime> {
    const options = checkOptions(given);
    // Nest calls no hooks of a lazily loaded module, so the check in `onModuleInit` would not run.
    expectAlone(discovery);
    const logger = new RateLimitLogger();
    const monitor = new Monitor(options, logger);
    const opened = await (override === null ? openStore(options, monitor, logger) : overridingStore(override, options));
    return new AssembledRuntime(options, opened, monitor, logger, discovery, scanner, adapterHost, application);
  }

  async onModuleInit(): Promise<void> {
    expectAlone(this.discovery);
    const handlers = [...limitableHandlers(this.discovery, this.scanner, this.contexts)];
    const { options, policies, middleware, routes } = this;
    const { checks, monitor } = this.parts;
    checkRoutes(handlers, { options, policies, middleware, routes, checks, monitor }, this.logger);
    for (const { adapter } of handlers) await this.contexts.prepare(adapter);
    const caps = this.options.defaults.filter((source) => this.isCap(source));
    this.warn('FG_NOT_LIMITED', [
      ...warningsOfHandlers(handlers, this.discovery, this.scanner),
      ...untoldDecisions(handlers, this.routes, this.middleware !== undefined),
      unguardedHandlers(handlers, this.options.defaults, this.guards),
      // A cap of the whole application is meant for every route: a decorator that drops it is a mistake more often than not.
      replacedDefaults(handlers, caps),
      this.middleware !== undefined && takesUpgrades(serverOf(this.adapterHost)) ? UPGRADES : undefined,
    ]);
    this.warn('FG_OPTION_WITHOUT_EFFECT', [
      skippedButCounted(handlers, this.middleware, this.options.middleware.except),
      guardsInVain(this.application, handlers),
    ]);
    const replaced = replacedDefaults(
      handlers,
      this.options.defaults.filter((source) => !this.isCap(source)),
    );
    if (replaced !== undefined) this.logger.log(replaced);
    this.connections.watch(serverOf(this.adapterHost));
    if (handlers.some(({ adapter }) => adapter.type === 'graphql')) linkReplies(this.adapterHost);
    this.logTrustedHeaders();
    const proxies = trustProxyWarning(this.trustProxy());
    if (proxies !== undefined) this.logger.warn(proxies);
    await this.parts.start();
    if (!this.parts.isClosed) this.shedding?.start({ handlers, routes: this.routes, isGuarded: this.guards });
  }

  onModuleDestroy(): void {
    this.parts.drain();
  }

  async onApplicationShutdown(): Promise<void> {
    this.shedding?.stop();
    await this.parts.close();
  }

  warnOfContext(context: ExecutionContext): void {
    const type = context.getType<string>();
    const handler = context.getHandler();
    const { sources } = sourcesOf(context.getClass(), handler, this.options.defaults);
    if (sources.length === 0 || this.unknownContexts.has(type)) return;
    this.unknownContexts.add(type);
    this.logger.warn(
      withHelp(
        `${context.getClass().name}.${handler.name}: contexts of type '${type}' are not limited, because no adapter knows them: ` +
          `give one in the option contexts of RateLimitModule`,
        'FG_NOT_LIMITED',
      ),
    );
  }

  private trustProxy(): ReturnType<typeof trustProxyOf> {
    return readsAddressHeader(this.options.identity ?? []) ? undefined : trustProxyOf(this.adapterHost);
  }

  private isCap(source: PolicySource): boolean {
    return scopeOf(source, this.options.policies) === 'app';
  }

  private warn(code: ErrorCode, warnings: readonly (string | undefined)[]): void {
    for (const warning of warnings) if (warning !== undefined) this.logger.warn(withHelp(warning, code));
  }

  private logTrustedHeaders(): void {
    const headers = new Set((this.options.identity ?? []).flatMap(({ header }) => header ?? []));
    if (headers.size === 0) return;
    this.logger.log(
      `Identities are taken from the headers ${[...headers].join(', ')}: a gateway must set or remove each of them, or clients invent identities`,
    );
  }
}

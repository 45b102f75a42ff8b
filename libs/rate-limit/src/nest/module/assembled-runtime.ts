import type {
  ExecutionContext,
  INestApplicationContext,
  OnApplicationShutdown,
  OnModuleDestroy,
  OnModuleInit,
} from '@nestjs/common';
import type { ApplicationConfig, DiscoveryService, HttpAdapterHost, MetadataScanner } from '@nestjs/core';
import { ClockOffset } from '../../http/clock-offset.js';
import { Connections, takesUpgrades } from '../../http/connections.js';
import type { HeaderSettings } from '../../http/headers.js';
import { ForwardedWatch, trustProxyWarning } from '../../http/trust-proxy.js';
import { Fallback } from '../../engine/fallback.js';
import { CountedIdentities } from '../../engine/explain/counted-identities.js';
import { LimitExplainer } from '../../engine/explain/limit-explainer.js';
import { ExpiringReservations } from '../../engine/settling/expiry/expiring-reservations.js';
import { Leases } from '../../engine/settling/leases.js';
import { Engine } from '../../engine/engine.js';
import { PendingCharges } from '../../engine/settling/pending-charges.js';
import { CallCharges } from '../../engine/calls/call-charges.js';
import { LimitLooks } from '../../engine/calls/limit-looks.js';
import { CallPolicies } from '../../engine/calls/call-policies.js';
import { ActiveOverrides } from '../../engine/overrides/active-overrides.js';
import { KnownPolicies } from '../../engine/overrides/known-policies.js';
import { OverrideCalls } from '../../engine/overrides/override-calls.js';
import { OverrideWatch } from '../../engine/overrides/override-watch.js';
import { RateLimitOverrides } from '../../engine/overrides/rate-limit-overrides.js';
import { Plans } from '../../engine/functions/plans.js';
import { LimiterCalls } from '../../engine/calls/limiter-calls.js';
import { RateLimiter } from '../../engine/calls/rate-limiter.js';
import { LayeredStore } from '../../engine/layered-store.js';
import { Thresholds } from '../../engine/thresholds/thresholds.js';
import { CallQueue } from '../../engine/scheduling/call-queue.js';
import { Pauses } from '../../engine/scheduling/pauses.js';
import { StoredPauses } from '../../engine/scheduling/stored-pauses.js';
import { ScheduledCalls } from '../../engine/scheduling/scheduled-calls.js';
import { Scheduler } from '../../engine/scheduling/scheduler.js';
import { UserFunctions } from '../../engine/functions/user-functions.js';
import { WaitingRoom } from '../../engine/requests/waiting-room.js';
import { Monitor } from '../../metrics/monitor.js';
import { TurnMonitor } from '../../metrics/turn-monitor.js';
import { NamedPolicies } from '../../policy/named-policies.js';
import type { RateLimitStats } from '../../metrics/stats.js';
import type { ReportBoard } from '../../stores/report-board.js';
import { timingOf } from '../../stores/timer.js';
import type { RateLimitStore } from '../../stores/store.js';
import type { StoreTraits } from '../../stores/traits.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { ipv6PrefixOf } from '../../identity/resolvers.js';
import { AddressLists } from '../guard/address-lists.js';
import { GuardWork } from '../guard/guard-work.js';
import type { RateLimitGuard } from '../guard/rate-limit.guard.js';
import { findsIdentities, isGuarded } from '../boot/application-guard.js';
import { type LimitableHandler, limitableHandlers, warningsOfHandlers } from '../boot/boot-checks.js';
import { Contexts } from '../contexts/contexts.js';
import { untoldDecisions } from '../decisions/untold-decisions.js';
import { linkReplies } from '../contexts/fastify-replies.js';
import { Operations } from '../contexts/operations.js';
import { expectAlone } from './single-runtime.js';
import { DecisionHeaders } from '../guard/decision-headers.js';
import { requestOf } from '../guard/http-context.js';
import { addressChain, goneClients, identityChain } from '../guard/identity-chain.js';
import { type GuardCheck, KnownHandlers } from '../routes/known-handlers.js';
import { LateIdentities } from '../guard/late-identities.js';
import { openStore, overridingStore, reportBoardOf, reservationLogOf } from './open-store.js';
import type { OpenedStore } from './opened-store.js';
import { documentAnswers } from '../openapi/document-answers.js';
import type { OpenApiDocument } from '../openapi/document-rate-limits.js';
import { type CheckedOptions, checkOptions, shortDurations } from '../options/check-options.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import { planSettings } from '../options/plan-settings.js';
import { shedSettings } from '../options/shed-settings.js';
import { ShedRequests } from '../guard/shed-requests.js';
import { skippedButCounted } from '../boot/middleware-exceptions.js';
import { PolicyChecks } from '../boot/policy-checks.js';
import { serverOf, trustProxyOf } from '../boot/platform.js';
import { PolicyFunctions } from '../routes/policy-functions.js';
import { type Route, RoutePolicies } from '../routes/route-policies.js';
import { replacedDefaults, scopeOf, sourcesOf, unguardedHandlers } from '../routes/route-sources.js';
import type { IdentityChain, PolicySource } from '../types.js';
import { RateLimitLogger } from './logger.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import type { RuntimePart } from './runtime-part.js';

/**
 * Puts the limiter together from the module's options, and gives it the module's life: it checks every route's policies at
 * boot, rejects the requests that wait before the server closes, and closes the store at shutdown.
 */
export class AssembledRuntime extends RateLimitRuntime implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  readonly engine: Engine;
  readonly unobserved: Engine;
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
  readonly identities: IdentityChain;
  readonly routes: RoutePolicies;
  readonly policyFunctions: PolicyFunctions;
  readonly plans: Plans<ExecutionContext> | undefined;
  readonly functions: UserFunctions;
  readonly middleware: Route | undefined;
  readonly addressLists: AddressLists | undefined;
  readonly shedding: ShedRequests | undefined;
  readonly waitingRoom: WaitingRoom;
  readonly calls: CallQueue;
  readonly leases: Leases;
  readonly pending: PendingCharges;
  readonly contexts: Contexts;
  readonly operations = new Operations();
  readonly headers: HeaderSettings;
  readonly forwarded: ForwardedWatch;
  private readonly policyChecks: PolicyChecks;
  private readonly parts: RuntimePart[] = [];
  private readonly fallback: Fallback;
  private readonly traits: StoreTraits;
  private readonly connections = new Connections();
  readonly hasGone = goneClients(this.connections);
  private readonly guards: GuardCheck = (type, handler) => isGuarded(this.application, type, handler);
  private readonly unknownContexts = new Set<string>();

  private constructor(
    readonly options: CheckedOptions,
    private readonly opened: OpenedStore,
    readonly monitor: Monitor,
    private readonly logger: Logger,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly adapterHost: HttpAdapterHost,
    private readonly application: ApplicationConfig,
  ) {
    super();
    const { keyPrefix, defaults, deadlineMs } = options;
    this.functions = new UserFunctions(deadlineMs, monitor, logger);
    this.plans = options.plan && new Plans(planSettings(options.plan), requestOf, this.functions, monitor);
    this.headers = {
      headers: options.headers,
      offset: new ClockOffset(),
    };
    const addresses = addressChain(options, this.functions, this.hasGone);
    this.addressLists = AddressLists.of(options, this.functions, monitor, addresses);
    const policies = new NamedPolicies<ExecutionContext>(options.policies);
    const late = new LateIdentities(
      () => this.identities,
      (policy) => monitor.identityMissing(policy),
      logger,
    );
    this.identities = identityChain(options, this.functions, this.hasGone, late);
    this.waitingRoom = this.part(new WaitingRoom(options, opened.store.timer));
    this.forwarded = new ForwardedWatch(
      () => trustProxyOf(adapterHost),
      (message) => logger.warn(message),
    );
    this.contexts = new Contexts(options.contexts);
    this.routes = new RoutePolicies(
      policies,
      defaults,
      keyPrefix,
      this.identities,
      this.functions,
      logger,
      this.plans !== undefined,
    );
    this.middleware = this.routes.beforeRouting(options.middleware.policies);
    const shed = options.shed && shedSettings(options.shed, options.middleware.policies);
    this.shedding = shed && this.part(new ShedRequests(shed, this.functions, logger, this.middleware));
    this.policyFunctions = new PolicyFunctions(this.functions);
    const { onThreshold, decisionIdentity } = options;
    const thresholds = onThreshold && new Thresholds({ onThreshold, decisionIdentity }, logger);
    const layered = new LayeredStore({ ...opened, thresholds }, logger);
    this.traits = layered.traits;
    const { routes, middleware, traits } = this;
    this.policyChecks = new PolicyChecks({ options, policies, middleware, routes, traits, monitor }, logger);
    const fallback = (this.fallback = new Fallback({ ...options, thresholds }, logger));
    const active = new ActiveOverrides(logger, opened.overrides.processMs);
    this.engine = new Engine(keyPrefix, layered, fallback, monitor, active);
    this.unobserved = new Engine(keyPrefix, layered, fallback, new Monitor({}, logger), active);
    this.leases = new Leases(logger, opened.store.timer);
    const named = new CallPolicies(policies, keyPrefix, this.routes, logger, layered.traits.prefetch);
    const known = new KnownPolicies(policies, named, this.routes);
    const kinds = (options.identity ?? []).map(({ kind }) => kind);
    const ipv6Prefix = ipv6PrefixOf(options.identity ?? []);
    const counted = new CountedIdentities(this.routes, kinds, ipv6Prefix, options, () => {
      const handlers = [...limitableHandlers(discovery, scanner, this.contexts)];
      return handlers.some(({ type, handler }) => findsIdentities(application, type, handler));
    });
    const explainer = new LimitExplainer({
      engine: this.unobserved,
      places: new KnownHandlers(
        discovery,
        scanner,
        this.guards,
        this.contexts,
        this.routes,
        { route: this.middleware, except: options.middleware.except ?? [] },
        defaults,
        this.shedding,
      ),
      policies: known,
      identities: counted,
      named: policies,
      plans: this.plans,
      timeZones: this.policyFunctions.timeZones,
      overrides: opened.overrides,
      pausedFor: (charge) => pauses.left(charge),
      defaults: options,
    });
    const timing = timingOf(opened.store);
    const expiring = this.part(
      new ExpiringReservations(
        {
          decide: (charges) => this.engine.decide(charges),
          settle: (settlements) => layered.settle(settlements),
          within: (answer) => opened.deadlines.within(answer),
          traits: layered.traits,
          log: reservationLogOf(opened.store, options),
          ...timing,
        },
        logger,
      ),
    );
    this.pending = new PendingCharges(this.leases, this.functions, expiring);
    const watch = this.part(new OverrideWatch(opened.overrides, active, logger));
    this.overrides = new RateLimitOverrides(new OverrideCalls(opened.overrides, active, watch, known, counted, logger));
    const stored = this.traits.isLocal ? undefined : new StoredPauses(layered, timing.nowMs);
    const turns = new Engine(keyPrefix, layered, fallback, new TurnMonitor(monitor), active, stored);
    const queue = { maxQueued: options.maxQueuedCalls, deadlineMs, ...timing };
    this.calls = this.part(new CallQueue(turns, queue, stored));
    const pauses = new Pauses(this.calls.gates, stored, logger);
    active.onChange = (changed) => this.calls.gates.overridden(changed);
    const charges = new CallCharges(this.engine, this.plans, ipv6Prefix);
    const { timeZones } = this.policyFunctions;
    this.limiter = new RateLimiter(
      new LimiterCalls(this.engine, named, charges, this.leases, expiring),
      new LimitLooks(this.engine, named, charges, this.routes, explainer, timeZones, this.calls.gates, pauses, counted),
      new ScheduledCalls(
        named,
        new Scheduler(
          turns,
          new CallCharges(turns, this.plans, ipv6Prefix),
          this.calls,
          this.leases,
          this.functions,
          expiring,
        ),
        pauses,
      ),
      new DecisionHeaders(adapterHost, this.headers, this.contexts),
      () => this.stats(),
    );
  }

  guardWork(guard: RateLimitGuard): GuardWork {
    return new GuardWork(this, guard, this.adapterHost);
  }

  document(document: OpenApiDocument, app: INestApplicationContext): void {
    documentAnswers(document, app, this);
  }

  get store(): RateLimitStore {
    return this.opened.store;
  }

  get reportBoard(): ReportBoard | undefined {
    return reportBoardOf(this.opened.store, this.options.keyPrefix);
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
    this.policyChecks.check(handlers);
    for (const { adapter } of handlers) await this.contexts.prepare(adapter);
    for (const warning of shortDurations(this.options.given)) this.logger.warn(withHelp(warning, 'FG_POLICY_NUMBERS'));
    const untold = untoldDecisions(handlers, this.routes, this.middleware !== undefined);
    for (const warning of [...warningsOfHandlers(handlers, this.discovery, this.scanner), ...untold]) {
      this.logger.warn(withHelp(warning, 'FG_NOT_LIMITED'));
    }
    const unguarded = unguardedHandlers(handlers, this.options.defaults, this.guards);
    if (unguarded !== undefined) this.logger.warn(withHelp(unguarded, 'FG_NOT_LIMITED'));
    const counted = skippedButCounted(handlers, this.middleware, this.options.middleware.except);
    if (counted !== undefined) this.logger.warn(withHelp(counted, 'FG_OPTION_WITHOUT_EFFECT'));
    this.tellReplaced(handlers);
    this.connections.watch(serverOf(this.adapterHost));
    if (handlers.some(({ adapter }) => adapter.type === 'graphql')) linkReplies(this.adapterHost);
    this.logTrustedHeaders();
    if (this.middleware !== undefined && takesUpgrades(serverOf(this.adapterHost))) {
      this.logger.warn(
        withHelp(
          `RateLimitModule, middleware: WebSocket upgrades go straight to their listener and are not counted. Limit them ` +
            `with @RateLimit on the gateway's handleConnection`,
          'FG_NOT_LIMITED',
        ),
      );
    }
    for (const warning of [trustProxyWarning(trustProxyOf(this.adapterHost)), this.opened.warning]) {
      if (warning !== undefined) this.logger.warn(warning);
    }
    await this.opened.store.connect?.();
    for (const part of this.parts) await part.start?.({ handlers, routes: this.routes, isGuarded: this.guards });
    // Ask before the first request: it may begin an outage, and an awaited value would arrive after it.
    if (!this.traits.isLocal) this.fallback.noteProcesses();
    this.logger.log(this.opened.description);
  }

  onModuleDestroy(): void {
    for (const part of this.parts) part.close?.();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const part of this.parts) part.stop?.();
    await this.engine.close();
    if (!this.opened.owned) return;
    this.leases.stop();
    await this.opened.store.close?.();
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

  private part<Part extends RuntimePart>(part: Part): Part {
    this.parts.push(part);
    return part;
  }

  /** A feature that is not configured counts nothing. */
  private stats(): RateLimitStats {
    const { memoryOverflows, prefetch, overrideStats: overrides } = this.engine;
    const reservations = { open: 0, rejected: 0, untimed: 0 };
    const engine = { memoryOverflows, prefetch, overrides, leases: this.leases.held() };
    const own = { ...this.monitor.stats(), ...engine, waiting: 0, scheduled: [], reservations, shedding: undefined };
    return this.parts.reduce<RateLimitStats>((all, part) => ({ ...all, ...part.stats?.() }), own);
  }

  /** A cap of the whole application is meant for every route: a decorator that drops it is a mistake more often than not. */
  private tellReplaced(handlers: readonly LimitableHandler[]): void {
    const { defaults, policies } = this.options;
    const isCap = (source: PolicySource): boolean => scopeOf(source, policies) === 'app';
    const caps = replacedDefaults(handlers, defaults.filter(isCap));
    if (caps !== undefined) this.logger.warn(withHelp(caps, 'FG_NOT_LIMITED'));
    const others = replacedDefaults(
      handlers,
      defaults.filter((source) => !isCap(source)),
    );
    if (others !== undefined) this.logger.log(others);
  }

  private logTrustedHeaders(): void {
    const headers = new Set((this.options.identity ?? []).flatMap(({ header }) => header ?? []));
    if (headers.size === 0) return;
    this.logger.log(
      `Identities are taken from the headers ${[...headers].join(', ')}: a gateway must set or remove each of them, or clients invent identities`,
    );
  }
}

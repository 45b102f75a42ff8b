import { closingStep } from '../stores/loop-timer.js';
import type { Front } from '../charges/decider.js';
import { CallCharges } from '../engine/calls/call-charges.js';
import { CallPolicies, type LimiterPolicy } from '../engine/calls/call-policies.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { PolicyChecks } from './policy-checks.js';
import type { LimiterOptions } from './limiter-options.js';
import { LimitLooks, type RoutePolicySource } from '../operate/limit-looks.js';
import { LimiterCalls } from '../engine/calls/limiter-calls.js';
import { type HeaderSetter, RateLimiter } from './rate-limiter.js';
import { Engine } from '../engine/engine.js';
import { CountedIdentities } from '../operate/identities/counted-identities.js';
import { LimitExplainer } from '../operate/explain/limit-explainer.js';
import type { HandlerDirectory } from '../operate/explain/limit-references.js';
import type { PolicyDefaults } from '../operate/explain/limit-table.js';
import { Fallback, type FallbackSettings } from '../engine/fallback.js';
import type { Plans } from '../functions/plans.js';
import type { TimeZones } from '../functions/time-zones.js';
import { UserFunctions } from '../functions/user-functions.js';
import { LayeredStore } from '../engine/layered-store.js';
import { ActiveOverrides } from '../layers/overrides/active-overrides.js';
import { KnownPolicies } from '../operate/overrides/known-policies.js';
import { PlanChanges } from '../operate/plans/plan-changes.js';
import { OverrideCalls } from '../operate/overrides/override-calls.js';
import { OverrideWatch } from '../layers/overrides/override-watch.js';
import { RateLimitOverrides } from '../operate/overrides/rate-limit-overrides.js';
import { WaitingRoom, type WaitingRoomLimits } from '../holds/waiting/waiting-room.js';
import { CallQueue } from '../scheduling/call-queue.js';
import { Pauses } from '../scheduling/pauses.js';
import { StoredPauses } from '../layers/pauses/stored-pauses.js';
import { ScheduledCalls } from '../scheduling/scheduled-calls.js';
import { Scheduler } from '../scheduling/scheduler.js';
import { Leases } from '../holds/leases/leases.js';
import { Holds } from '../holds/pending/holds.js';
import { PendingCharges } from '../holds/pending/pending-charges.js';
import { Monitor } from '../watch/monitor.js';
import type { RateLimitStats } from '../watch/stats.js';
import { TurnMonitor } from '../watch/turn-monitor.js';
import type { KeyPrefix } from '../policy/key.js';
import type { NamedPolicies } from '../policy/named-policies.js';
import type { ReportBoard } from '../stores/report-board.js';
import type { RateLimitStore } from '../stores/store.js';
import { timingOf } from '../stores/timer.js';
import { notLimiter } from '../util/given-limiter.js';
import type { Logger } from '../util/logger.js';
import { type OpenedStore, reportBoardOf } from './opened-store.js';
import { ROOMS } from './rooms.js';

/** The options of the limiter's parts, checked. Durations are milliseconds. */
export interface LimiterSettings extends FallbackSettings, PolicyDefaults, WaitingRoomLimits {
  /** The options as they were given, and what they were given to. */
  readonly given: () => Readonly<LimiterOptions>;
  readonly where: string;
  readonly keyPrefix: string;
  readonly deadlineMs: number;
  readonly maxQueuedCalls: number;
}

/** The policies of an application's routes, as the framework knows them. */
export interface LimitedRoutes extends RoutePolicySource {
  policyNames(): Iterable<string>;
}

/** What the limiter is made for: the routes of an application and its requests, or neither. */
export interface Surroundings {
  readonly policies: NamedPolicies;
  readonly routes: LimitedRoutes;
  readonly handlers: HandlerDirectory;
  readonly headers: HeaderSetter;
  readonly plans: Pick<Plans<never>, 'look' | 'underLastKnown' | 'forget'> | undefined;
  readonly timeZones: Pick<TimeZones<never>, 'look'>;
  /** The kinds of identities that requests have. */
  readonly kinds: readonly string[];
  readonly ipv6Prefix: number;
  /** Whether a guard of the application finds identities itself. */
  readonly findsIdentities: () => boolean;
  /** Counters of what stands in front of the limiter. */
  readonly stats?: () => Partial<RateLimitStats>;
}

/** What runs by itself beside decisions. A part has those of these methods that it needs. */
export interface RunningPart {
  /** Begins the work, once the store is connected. */
  start?(routes: LimitedRoutes): Promise<void> | void;
  /** Rejects what waits, and all that comes later. */
  close?(): void;
  /** Ends what runs by itself. The last requests have ended. */
  stop?(): Promise<void> | void;
  stats?(): Partial<RateLimitStats>;
}

/** The counters of what is not configured. */
const NO_STATS = {
  waiting: 0,
  scheduled: [],
  reservations: { open: 0, rejected: 0, untimed: 0 },
  prefetch: { prefetched: 0, returned: 0, expired: 0 },
  shedding: undefined,
};

/** The parts behind what applications call. */
const PARTS = new WeakMap<RateLimiter, LimiterParts>();

/**
 * The parts of a limiter.
 *
 * @throws {RateLimitConfigError} for anything else
 */
export function partsOf(limiter: RateLimiter, where: string): LimiterParts {
  const parts = PARTS.get(limiter);
  if (parts !== undefined) return parts;
  throw new RateLimitConfigError(where, notLimiter(limiter));
}

/** The only place where the parts of a limiter meet: the chain, the fallback, the holds, the calls that wait, and what watches. */
export class LimiterParts {
  /** The store with its layers. */
  readonly layered: LayeredStore;
  readonly engine: Engine;
  /** The engine without metrics and `onDecision`: for charges that are no decision on a request. */
  readonly unobserved: Engine;
  /** What the application calls. */
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
  readonly waitingRoom: WaitingRoom;
  /** The calls of `RateLimiter.schedule` that wait. */
  readonly queue: CallQueue;
  readonly leases: Leases;
  readonly pending: PendingCharges;
  readonly checks: PolicyChecks;
  private readonly running: readonly RunningPart[];
  private readonly named: CallPolicies;
  private readonly scheduler: Scheduler;
  private readonly warned = new Set<string>();
  /** Whether it closes, or has closed. */
  isClosed = false;

  /** @param functions calls the application's functions within the deadline */
  constructor(
    private readonly settings: LimiterSettings,
    private readonly opened: OpenedStore,
    readonly monitor: Monitor,
    readonly functions: UserFunctions,
    private readonly around: Surroundings,
    private readonly logger: Logger,
  ) {
    const { deadlineMs } = settings;
    const { store, overrides: log } = opened;
    const { policies, routes, plans, ipv6Prefix } = around;
    const timing = timingOf(store);
    const layers = ROOMS.flatMap(({ layer }) => layer ?? []);
    const watches = ROOMS.flatMap(({ watch }) => watch?.(settings.given(), logger) ?? []);
    const layered = (this.layered = new LayeredStore({ ...opened, layers, watches }, logger));
    this.checks = new PolicyChecks(layered.traits, monitor, logger);
    this.checks.checkOptions(settings.given(), policies, settings.where);
    const fallback = new Fallback({ ...settings, watches }, opened.fallbackClock);
    const active = new ActiveOverrides(logger, log.processMs);
    const stored = layered.traits.isLocal ? undefined : new StoredPauses(layered, timing.nowMs);
    const engineFor = (observer: Monitor | TurnMonitor, front?: Front): Engine =>
      new Engine(layered, fallback, observer, active, front);
    this.engine = engineFor(monitor);
    this.unobserved = engineFor(new Monitor({}, logger));
    const turns = engineFor(new TurnMonitor(monitor), stored);

    this.waitingRoom = new WaitingRoom(settings, store.timer);
    this.leases = new Leases(logger, store.timer);
    const settling = ROOMS.flatMap((room) => room.settling?.(this.engine, layered, settings, timing, logger) ?? []);
    const holds = new Holds(this.leases, functions, settling[0]);
    this.pending = new PendingCharges(holds);

    const named = (this.named = new CallPolicies(policies, this.keyPrefix, routes, logger, layered.traits.prefetch));
    const known = new KnownPolicies(policies, named, routes);
    const counted = new CountedIdentities(routes, around.kinds, ipv6Prefix, settings, around.findsIdentities);
    const overrideWatch = new OverrideWatch(log, active, logger);
    this.overrides = new RateLimitOverrides(new OverrideCalls(log, active, overrideWatch, known, counted, logger));
    const queueing = { maxQueued: settings.maxQueuedCalls, deadlineMs, ...timing };
    const planChanges = new PlanChanges(plans, log, known, counted);
    overrideWatch.onNotice = (tag) => planChanges.heard(tag);
    this.queue = new CallQueue(turns, holds, queueing, stored && ((charged) => stored.left(charged)));
    const { gates } = this.queue;
    const pauses = new Pauses(gates, stored, logger);
    active.onChange = (changed) => gates.overridden(changed);
    const explainer = new LimitExplainer({
      engine: this.unobserved,
      places: around.handlers,
      policies: known,
      identities: counted,
      named: policies,
      plans,
      timeZones: around.timeZones,
      overrides: log,
      pausedFor: (charge) => pauses.left(charge),
      defaults: settings,
    });

    const charges = new CallCharges(plans, ipv6Prefix, this.engine.plain);
    this.scheduler = new Scheduler(turns, charges, this.queue, holds);
    this.limiter = new RateLimiter(
      new LimiterCalls(this.engine, named, charges, this.leases, settling[0]),
      new LimitLooks(this.engine, named, charges, routes, explainer, around.timeZones, gates, pauses, counted),
      new ScheduledCalls(named, this.scheduler, pauses),
      planChanges,
      around.headers,
      this,
    );
    PARTS.set(this.limiter, this);
    this.running = [this.waitingRoom, ...settling, overrideWatch, this.queue];
  }

  /**
   * Binds the policies of requests. Several requests and calls that name a policy share its states.
   *
   * @throws {RateLimitConfigError} when a policy is wrong, unknown or has no name
   * @throws {LimiterClosedError} once `end` was called
   */
  bind(policies: LimiterPolicy | readonly LimiterPolicy[], where: string): readonly BoundPolicy[] {
    this.expectOpen();
    const bound = this.named.bindAll(policies, where);
    for (const policy of bound) this.checks.check(policy, where);
    return bound;
  }

  /** Warns of what several servers, or limits of one, may find: the first time that it is said. */
  warnOnce(warning: string): void {
    if (this.warned.has(warning)) return;
    this.warned.add(warning);
    this.logger.warn(warning);
  }

  /** How keys begin. */
  get keyPrefix(): KeyPrefix {
    return this.opened.sealing?.keys ?? this.settings.keyPrefix;
  }

  /** The store that decides. */
  get store(): RateLimitStore {
    return this.opened.store;
  }

  /** The reports of all processes; undefined if they cannot see each other's. */
  get reportBoard(): ReportBoard | undefined {
    return reportBoardOf(this.opened, this.settings.keyPrefix);
  }

  /** @throws {LimiterClosedError} once `end` was called */
  expectOpen(): void {
    this.named.expectOpen();
  }

  /**
   * Connects the store, and starts what runs by itself.
   *
   * @throws {LimiterClosedError} once `end` was called
   */
  async start(): Promise<void> {
    this.expectOpen();
    if (this.opened.warning !== undefined) this.logger.warn(this.opened.warning);
    await this.opened.store.connect?.();
    for (const part of this.running) {
      // The application may close while it starts.
      if (this.isClosed) return;
      await part.start?.(this.around.routes);
    }
    this.logger.log(this.opened.description);
  }

  /** Rejects what waits, and all that would wait later. Requests are still decided. */
  drain(): void {
    this.isClosed = true;
    for (const part of this.running) part.close?.();
  }

  /**
   * Closes, and decides no call of `RateLimiter` any more, and no request of a server without Nest. The shutdown of an application ends with
   * `close`: its last jobs still ask.
   */
  end(): Promise<void> {
    this.named.end();
    return this.close();
  }

  /** Ends what runs by itself, and the store if the limiter has opened it. The last requests have ended. */
  async close(): Promise<void> {
    this.drain();
    await closingStep(this.layered.idle()); // a grant that comes now is refunded, or its call runs
    await closingStep(Promise.all([this.scheduler, this.pending].map((work) => work.stop())));
    if (this.opened.owned) this.leases.stop();
    await closingStep(Promise.all(this.running.map((part) => Promise.resolve(part.stop?.()))));
    await this.engine.close();
    // The settlements and refunds of all of them.
    await (this.opened.owned ? this.opened.store.close?.() : closingStep(this.layered.close()));
  }

  /** A feature that is not configured counts nothing. */
  stats(): RateLimitStats {
    const { memoryOverflows, overrideStats: overrides } = this.engine;
    const engine = { memoryOverflows, overrides, leases: this.leases.held() };
    const own = { ...NO_STATS, ...this.monitor.stats(), ...engine };
    const parts = [...this.layered.layers, ...this.running, this.around];
    return parts.reduce<RateLimitStats>((all, part) => ({ ...all, ...part.stats?.() }), own);
  }
}

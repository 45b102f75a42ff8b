import type { OnMissingIdentity } from '../../identity/identity.js';
import { kindOfTag } from '../../identity/identity-tag.js';
import { type BoundPolicy, inTimeZone } from '../../policy/bound-policy.js';
import { candidateName } from '../../policy/candidate.js';
import { underPriority } from '../../policy/priorities/under-priority.js';
import type { Decision } from '../../policy/decision.js';
import type { OverrideLog, OverrideRecord } from '../../stores/override-log.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { LimiterUnavailableError } from '../errors.js';
import type { ExplainedOverride, LimitExplanation, PolicyExplanation } from './explanation.js';
import { asRow, behind, eachOnce, type Explained, runsOver } from './else-row.js';
import { explainedBlock, isoOf, meets } from './explained-outcome.js';
import { checkExplainedPlan, checkExplainedPriority, explainedZone, tagOf, unknownName } from './explain-arguments.js';
import type { Engine } from '../engine.js';
import { overrideId, readBody } from '../overrides/override-text.js';
import type { ActiveOverride } from '../overrides/override-table.js';
import type { OverridablePolicies } from '../overrides/rate-limit-overrides.js';
import { type Plans, underPlan } from '../functions/plans.js';
import type { HandlerClass } from '../calls/rate-limiter.js';
import {
  type KnownHandler,
  type LimitTable,
  modeOf,
  plainNumbers,
  type PolicyDefaults,
  tablePolicy,
  tableRoute,
} from './limit-table.js';
import type { TimeZones } from '../functions/time-zones.js';

/** A route: its class and method, or its name as in `TableRoute.route` or `TableRoute.handler`. */
export type RouteReference = readonly [controller: HandlerClass, method: string] | string;

/** One policy or one route, for `RateLimiter.peek`, `reset` and `explain`: a text is a policy's name, else a route's. */
export type LimitReference = RouteReference | { readonly policy: string } | { readonly route: RouteReference };

/** What a reference means: the policies, and the route where it is one. */
interface Referred {
  readonly handler: KnownHandler | undefined;
  readonly policies: readonly BoundPolicy[];
}

/** The handlers of the application, as the framework knows them. */
export interface HandlerDirectory {
  /** What limits all traffic. */
  readonly middleware: { readonly chosen: boolean; readonly policies: readonly BoundPolicy[] };
  handlers(): readonly KnownHandler[];
  /** @throws {TypeError} when the class has no such handler @param where how the error begins */
  handlerOf(controller: HandlerClass, method: string, where: string): KnownHandler;
}

/** What the caller knows about the client. */
export interface ExplainOptions {
  readonly plan?: string | null | undefined;
  readonly timeZone?: string | undefined;
  readonly priority?: string | undefined;
}

/** What the explainer reads. */
export interface ExplainerSources {
  /** Decides without metrics and `onDecision`. */
  readonly engine: Pick<Engine, 'charge' | 'decision' | 'overrideOf' | 'overriddenCharge'>;
  readonly places: HandlerDirectory;
  readonly policies: OverridablePolicies;
  /** The policies that stand on routes. */
  readonly routes: { boundTo(name: string): Iterable<BoundPolicy> };
  /** The names of the module's `policies`. */
  readonly named: Iterable<{ readonly name: string; readonly candidate?: { readonly name: string } | undefined }>;
  readonly plans: Pick<Plans<never>, 'look'> | undefined;
  readonly timeZones: Pick<TimeZones<never>, 'look'>;
  readonly overrides: Pick<OverrideLog, 'get'>;
  readonly defaults: PolicyDefaults;
  /** The kinds of identities that the module's chain finds. */
  readonly kinds: readonly string[];
}

/** Policies to ask at once. An application may have thousands, and each question has a deadline of its own. */
const TOGETHER = 64;
const MAX_RECORDS = 100;
const WHERE = 'RateLimiter.explain';

/** Shows which policies limit what, and the state of an identity under them. Charges and counts nothing. */
export class LimitExplainer {
  /**
   * Override records of the store by version, cached because a page may ask several times a second. Each change has a version
   * of its own.
   */
  private readonly records = new Map<number, OverrideRecord>();

  constructor(private readonly sources: ExplainerSources) {}

  table(): LimitTable {
    const { places, defaults, named, policies } = this.sources;
    const { chosen, policies: all } = places.middleware;
    const names = Array.from(named, ({ name, candidate }) => [
      name,
      ...(candidate === undefined ? [] : [candidate.name]),
    ]);
    const app = names.flat().map((name) => policies.places(name).find(({ boundTo }) => boundTo === 'app'));
    return {
      middleware: { chosen, policies: all.map((policy) => tablePolicy(policy, defaults)) },
      routes: places.handlers().map((handler) => tableRoute(handler, defaults)),
      named: app.flatMap((policy) => (policy === undefined ? [] : tablePolicy(policy, defaults))),
    };
  }

  /**
   * The policies that `RateLimiter.peek` asks for a route: those of the module's `middleware` that count such an identity, and
   * the route's own. Empty for a route without policies.
   */
  peekable(what: LimitReference, identity: string | undefined, where: string): readonly BoundPolicy[] {
    const { handler, policies } = this.referred(what, where);
    if (handler === undefined) return policies;
    return this.known(handler, where).filter(
      (policy) =>
        handler.policies.includes(policy) || identity === undefined || this.counts(policy, identity) !== false,
    );
  }

  /**
   * The policies that `RateLimiter.reset` clears: by a policy's name, or those of a route. For one client, the route's `by:
   * 'global'` policies are left out.
   */
  resettable(what: LimitReference, isOneClient: boolean, where: string): readonly BoundPolicy[] {
    const { handler, policies } = this.referred(what, where);
    if (handler === undefined) return policies;
    return this.known(handler, where).filter(({ by }) => !isOneClient || by !== 'global');
  }

  /** Whether a text is the name of a policy. */
  isPolicy(name: string): boolean {
    return this.sources.policies.places(name).length > 0;
  }

  /** Whether a text that names no policy means a route. Names of HTTP routes contain a path. */
  isRoute(name: string): boolean {
    if (name.includes('/')) return true;
    return this.sources.places.handlers().some(({ route, handler }) => route === name || handler === name);
  }

  async explain(
    what: LimitReference | null,
    who: unknown,
    { plan, timeZone, priority }: ExplainOptions,
    where = WHERE,
  ): Promise<LimitExplanation> {
    const tag = tagOf(who, where);
    const { handler, policies } =
      what === null ? { handler: undefined, policies: this.allPolicies() } : this.referred(what, where);
    checkExplainedPlan(plan, policies, where);
    const zone = explainedZone(timeZone, policies, where);
    checkExplainedPriority(priority, policies, where);
    const found: Explained[] = [];
    for (let i = 0; i < policies.length; i += TOGETHER) {
      const some = policies.slice(i, i + TOGETHER).map((policy) => this.explainRow(policy, tag, plan, zone, priority));
      found.push(...(await Promise.all(some)).flat());
    }
    const at = Math.max(0, ...found.map((one) => one.at)) || Date.now();
    const all = (what === null ? eachOnce(found) : found).map(({ explained }) => explained);
    const shownOnes = what === null ? all.filter(({ counts }) => counts !== false) : all;
    const rejecting = shownOnes.filter(({ isRejected }) => isRejected);
    const passes = rejecting.flatMap(({ passesAt }) => passesAt ?? []);
    return {
      identity: tag,
      at: isoOf(at),
      route: handler === undefined ? null : routeOf(handler),
      isRejected: rejecting.length > 0,
      passesAt: passes.length === rejecting.length ? (passes.toSorted().at(-1) ?? isoOf(at)) : null,
      policies: [...rejecting, ...shownOnes.filter(({ isRejected }) => !isRejected)],
    };
  }

  /** @throws {RateLimitConfigError} for an unknown name */
  private referred(what: LimitReference, where: string): Referred {
    const { policies } = this.sources;
    const { policy, route = what } = (isNamed(what) ? what : {}) as { policy?: unknown; route?: unknown };
    if (policy !== undefined && typeof policy !== 'string') {
      throw new RateLimitConfigError(where, `policy must be a name, got ${shown(policy)}`, 'FG_INVALID_OPTION');
    }
    const name = policy ?? what;
    const named = typeof name === 'string' ? policies.places(name) : [];
    if (named.length > 0)
      return { handler: undefined, policies: [...named, ...candidatesOf(name as string, policies)] };
    if (typeof name === 'string' && (policy !== undefined || !this.isRoute(name))) {
      throw unknownName('policy', name, policies.names(), where);
    }
    const handler = this.handlerOf(route as RouteReference, where);
    return { handler, policies: this.policiesOf(handler) };
  }

  /**
   * The policies of a handler that are known without a request.
   *
   * @throws {TypeError} when a function chooses them
   */
  private known(handler: KnownHandler, where: string): readonly BoundPolicy[] {
    if (!handler.chosen) return this.policiesOf(handler);
    throw new TypeError(
      `${where}: ${handler.handler} has policies that a function chooses: there is none without a request`,
    );
  }

  private handlerOf(route: RouteReference, where: string): KnownHandler {
    const { places } = this.sources;
    if (Array.isArray(route)) {
      const [controller, method] = route as [HandlerClass, string];
      return places.handlerOf(controller, method, where);
    }
    if (typeof route !== 'string') {
      throw new RateLimitConfigError(
        where,
        `route must be [Controller, 'method'] or a name such as 'POST /rides' or 'RidesController.request', got ${shown(route)}`,
        'FG_INVALID_OPTION',
      );
    }
    const handlers = places.handlers();
    const named = handlers.filter((one) => one.route === route);
    const found = named.length > 0 ? named : handlers.filter((one) => one.handler === route);
    if (found.length === 1) return found[0]!;
    if (found.length === 0)
      throw unknownName(
        'route',
        route,
        handlers.map((one) => one.route),
        where,
      );
    const which = found.map((one) => shown(one.route)).join(', ');
    throw new RateLimitConfigError(
      where,
      `route ${shown(route)} can be any of ${which}: name one of them`,
      'FG_UNKNOWN_ROUTE',
    );
  }

  /** The policies of a request to the handler, each once: middleware and guard charge a shared state only once. */
  private policiesOf({ context, guarded, policies }: KnownHandler): readonly BoundPolicy[] {
    const before = context === 'http' ? this.sources.places.middleware.policies : [];
    return unique([...before, ...(guarded ? policies : [])]);
  }

  private allPolicies(): readonly BoundPolicy[] {
    const { policies } = this.sources;
    return unique(policies.names().flatMap((name) => policies.places(name)));
  }

  /** Explains a policy, and those that its `else` leads to, as far as a request comes. */
  private async explainRow(
    first: BoundPolicy,
    tag: string,
    plan: string | null | undefined,
    zone: string | undefined,
    priority: string | undefined,
  ): Promise<readonly Explained[]> {
    const row: Explained[] = [];
    let before: Explained | undefined;
    for (let policy: BoundPolicy | undefined = first; policy !== undefined; policy = policy.else) {
      // A policy without a cost of its own takes that of the request.
      const { cost } = before !== undefined && !policy.hasCost ? before.explained : { cost: constantCostOf(policy) };
      before = behind(before, await this.explainOne(policy, tag, cost, plan, zone, priority));
      row.push(before);
      if (!runsOver(before)) break;
    }
    return asRow(row);
  }

  private async explainOne(
    policy: BoundPolicy,
    tag: string,
    cost: number,
    given: string | null | undefined,
    givenZone: string | undefined,
    priority: string | undefined,
  ): Promise<Explained> {
    const { engine } = this.sources;
    const plan = this.planOf(policy, tag, given);
    const underItsPlan = underPlan(policy, plan?.name ?? undefined);
    const zone = underItsPlan.timeZone === undefined ? null : this.zoneOf(tag, givenZone);
    const inZone = zone === null ? underItsPlan : inTimeZone(underItsPlan, zone.name);
    const isClass = priority !== undefined && inZone.priorities?.has(priority) === true;
    const planned = isClass ? underPriority(inZone, priority) : inZone;
    const counts = this.counts(policy, tag);
    const active = counts === false ? undefined : engine.overrideOf(planned, tag);
    const [answer, override] = await Promise.all([
      counts === false ? undefined : this.decide(planned, tag, cost),
      active === undefined ? null : this.overrideOf(planned, tag, active),
    ]);
    const variant = active === undefined ? planned : (engine.overriddenCharge(planned, tag)?.policy ?? planned);
    const met = meets(answer, active);
    const block = explainedBlock(policy, met);
    return {
      keyTail: policy.keyTail,
      at: met.atMs ?? 0,
      explained: {
        policy: policy.name,
        algorithm: policy.algorithm.name,
        scope: policy.boundTo,
        mode: modeOf(policy),
        numbers: plainNumbers(variant.numbers),
        counts,
        outcome: met.outcome,
        isRejected: met.isRejected,
        cost,
        level: met.level,
        plan,
        timeZone: zone,
        priority: planned.priority ?? null,
        insteadOf: null,
        override,
        block,
        decidedBy: met.decidedBy,
        rejectedSince: met.isRejected
          ? (block?.since ?? (met.outcome === 'blocked' ? (override?.setAt ?? null) : null))
          : null,
        retryAfterMs: met.retryAfterMs,
        passesAt: met.atMs === undefined || met.retryAfterMs === null ? null : isoOf(met.atMs + met.retryAfterMs),
      },
    };
  }

  /** The decision, or why there is none. */
  private async decide(policy: BoundPolicy, tag: string, cost: number): Promise<Decision | LimiterUnavailableError> {
    const { engine } = this.sources;
    try {
      return await engine.decision([engine.charge(policy, tag, cost, 'peek')]);
    } catch (error) {
      if (error instanceof LimiterUnavailableError) return error;
      throw error;
    }
  }

  /** The store's record of an override. If the store does not answer: the override as this process knows it. */
  private async overrideOf(policy: BoundPolicy, tag: string, active: ActiveOverride): Promise<ExplainedOverride> {
    const { version, change, scope, endsAtMs } = active;
    const identity = policy.globalKey === undefined ? tag : undefined;
    const same = await this.recordOf(overrideId({ policy: policy.name, identity, scope }), version);
    const { reason, author } = (same && readBody(same)) ?? {};
    return {
      version,
      change,
      scope: scope ?? null,
      expiresAt: endsAtMs === 0 ? null : isoOf(endsAtMs),
      isComplete: same !== undefined,
      setAt: same === undefined ? null : isoOf(same.setAtMs),
      reason: reason ?? null,
      author: author ?? null,
    };
  }

  /** The store's record; undefined if the store does not answer, or has a newer version that has not reached this process. */
  private async recordOf(id: string, version: number): Promise<OverrideRecord | undefined> {
    const known = this.records.get(version);
    if (known !== undefined) return known;
    const record = await this.sources.overrides.get(id).catch(() => undefined);
    if (record?.version !== version) return undefined;
    if (this.records.size >= MAX_RECORDS) this.records.clear(); // they are asked for again
    this.records.set(version, record);
    return record;
  }

  private planOf({ plans }: BoundPolicy, tag: string, given: string | null | undefined): PolicyExplanation['plan'] {
    if (plans === undefined) return null;
    if (given !== undefined) return { name: nameIn(plans, given ?? undefined), isKnown: true };
    const { plan, known } = this.sources.plans?.look(tag) ?? { plan: undefined, known: false };
    return { name: nameIn(plans, plan), isKnown: known };
  }

  private zoneOf(tag: string, given: string | undefined): NonNullable<PolicyExplanation['timeZone']> {
    if (given !== undefined) return { name: given, isKnown: true };
    const { zone, known } = this.sources.timeZones.look(tag);
    return { name: zone, isKnown: known };
  }

  /** Whether requests with an identity of this kind are counted under a policy. */
  private counts(policy: BoundPolicy, tag: string): boolean | null {
    const { by, name, keyTail } = policy;
    const { routes, kinds, defaults } = this.sources;
    const kind = kindOfTag(tag);
    if (by === 'global') return true;
    // Code may call `RateLimiter` with any identity.
    if (![...routes.boundTo(name)].some((one) => one.keyTail === keyTail)) return true;
    if (typeof by === 'function') return null;
    if (by === 'client') return kinds.includes(kind) || ADDRESSES.includes(kind);
    if (by === 'ip') return ADDRESSES.includes(kind);
    const missing: OnMissingIdentity = policy.onMissingIdentity ?? defaults.onMissingIdentity;
    return kind === by || (missing === 'ip' && ADDRESSES.includes(kind));
  }
}

/** Whether a value refers to a policy by its name, or to a route: a text, a class with a method, `{ policy }` or `{ route }`. */
export function isReference(given: unknown): given is LimitReference {
  return typeof given === 'string' || isNamed(given) || (Array.isArray(given) && typeof given[0] === 'function');
}

function isNamed(given: unknown): given is { readonly policy: string } | { readonly route: RouteReference } {
  return typeof given === 'object' && given !== null && ('policy' in given || 'route' in given);
}

/** The kinds of requests without any other identity. */
const ADDRESSES: readonly string[] = ['ip', 'unknown'];

/** What is asked for: the policy's cost, or 1 where a function of the request says it. */
function constantCostOf({ cost }: BoundPolicy): number {
  return typeof cost === 'number' ? Math.max(1, cost) : 1;
}

function nameIn(plans: NonNullable<BoundPolicy['plans']>, plan: string | undefined): string | null {
  return plan !== undefined && plans.has(plan) ? plan : null;
}

function routeOf({ context, handler, route, origin, guarded, chosen }: KnownHandler): LimitExplanation['route'] {
  return { context, handler, route, origin, guarded, chosen };
}

/** The candidates of the policies of a name. `reset` clears their states, too. */
function candidatesOf(name: string, policies: OverridablePolicies): readonly BoundPolicy[] {
  return policies.places(candidateName(name)).filter((one) => one.candidateOf === name);
}

/** Removes policies that share the state of an earlier one, which has the same key tail. */
function unique(policies: readonly BoundPolicy[]): readonly BoundPolicy[] {
  return [...new Map(policies.map((policy) => [policy.keyTail, policy])).values()];
}

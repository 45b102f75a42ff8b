import type { ExecutionContext, Type } from '@nestjs/common';
import {
  type KeyPrefix,
  type Logger,
  type ParsedPolicy,
  type PolicyScope,
  type RoutePolicySource,
  type RouteTraits,
  withHelp,
} from 'floodgate/internal';
import { RateLimitConfigError } from 'floodgate';
import {
  allInOrder,
  bindPolicy,
  checkTogether,
  CHOSEN_TRAITS,
  hasZoneOfRequest,
  type NamedPolicies,
  parseElse,
  PolicyUses,
  routeTraitsOf,
  type UserFunctions,
  withElse,
} from 'floodgate/internal-boot';
import type { IdentityChain } from '../types.js';
import { checkOnePlace } from './middleware-and-routes.js';
import { sharedPlans, withoutPlan } from './plan-checks.js';
import {
  canStandTogether,
  checkChoice,
  type Choice,
  isChooser,
  standingTogether,
  withoutConflicts,
} from './policy-choices.js';
import type { BoundPolicy, PolicyChoice, PolicyFunction, PolicySource } from '../types.js';
import { BoundNames } from './bound-names.js';
import { requestOf } from '../contexts/http-context.js';
import { controllerOf, declaredHandler, type Handler, handlerNameOf, routeOf, UniqueNames } from '../handlers/route.js';
import { checkSkips, type PlacedSource, type SourcePlace, sourcesOf } from './route-sources.js';

/** The policies of one handler, and what they need of each request: compiled once. */
export interface Route extends RouteTraits {
  /** The policies of every request, when none of them, nor a cost, `skipIf` or time zone, is a function of the request. */
  readonly fixed: readonly BoundPolicy[] | undefined;
  /** The policies of a request; a promise only where a function chooses one. */
  readonly policies: (context: ExecutionContext) => readonly BoundPolicy[] | Promise<readonly BoundPolicy[]>;
  /** The policies without a request, when no function chooses them. A `skipIf` may leave one of them out. */
  readonly staticPolicies: readonly BoundPolicy[] | undefined;
  /** The policies that no function chooses: all of them, or the others beside chosen ones. */
  readonly unconditional: readonly BoundPolicy[];
}

/** A place that has policies. */
interface Site {
  /** How error messages begin. */
  readonly text: string;
  readonly defaultScope: PolicyScope;
  readonly scopes: Readonly<Partial<Record<PolicyScope, string>>>;
}

/** A policy of a route, or the function that chooses it, with the site to which it is bound. */
interface SitedSource extends Pick<PlacedSource, 'source' | 'without'> {
  readonly site: Site;
  /** How messages about it begin. */
  readonly where: string;
}

type Bind = (source: PolicySource, chosen?: boolean, where?: string) => BoundPolicy;

/** The most warnings to log: functions may create any number of policies. */
const MAX_WARNINGS = 1000;

/** Resolves handlers to their policies, once for each (class, handler). */
export class RoutePolicies implements RoutePolicySource {
  /** The keys are weak, because tracing may make a handler for each request. */
  private readonly routes = new WeakMap<Handler, Map<Type, Route | undefined>>();
  private readonly controllers = new Map<Type, string>();
  /** The names of routes and controllers together: a class may be named GET. */
  private readonly names = new UniqueNames();
  private readonly places = new WeakMap<Handler, Map<Type, string>>();
  private readonly warned = new Set<string>();
  private readonly lacking = new Set<string>();
  private readonly bound = new BoundNames();
  private readonly uses: PolicyUses<ExecutionContext>;
  /** The plans of the policies that were bound. */
  readonly plans = new Set<NonNullable<ParsedPolicy<ExecutionContext>['plans']>>();
  /** Whether a function chooses policies of some route, so that not all policies are known before requests. */
  hasChoosers = false;
  /** The policies of the module's `middleware`, once they are bound. */
  private before: readonly BoundPolicy[] = [];

  /** @param hasPlan whether the module's `plan` says which plan a client has */
  constructor(
    private readonly named: NamedPolicies<ExecutionContext>,
    private readonly defaults: readonly PolicySource[],
    private readonly keyPrefix: KeyPrefix,
    private readonly identities: Pick<IdentityChain, 'lackOf' | 'countsAddresses'>,
    private readonly functions: UserFunctions,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly hasPlan: boolean,
  ) {
    this.uses = new PolicyUses(named);
    for (const [i, policy] of defaults.entries()) {
      if (isChooser(policy)) continue;
      const where = `RateLimitModule, defaults[${i}]`;
      const parsed = this.uses.parse(policy, where);
      // The defaults are checked even if every route has policies of its own.
      if (parsed.scope === 'app') named.claims.claim('app', parsed, where);
    }
  }

  /**
   * The handler's policies, or undefined when it has none.
   *
   * @throws {RateLimitConfigError} at the first call for the handler
   */
  of(controller: Type, handler: Handler): Route | undefined {
    let byController = this.routes.get(handler);
    if (byController === undefined) this.routes.set(handler, (byController = new Map()));
    let route = byController.get(controller);
    if (route === undefined && !byController.has(controller)) {
      const declared = declaredHandler(controller, handler);
      route = declared === handler ? this.resolve(controller, handler) : this.of(controller, declared);
      byController.set(controller, route);
    }
    return route;
  }

  /**
   * The policies of the module's `middleware`; undefined without any.
   *
   * @throws {RateLimitConfigError} for the first policy that cannot be used there
   */
  beforeRouting(sources: readonly PolicySource[]): Route | undefined {
    if (sources.length === 0) return undefined;
    const text = 'RateLimitModule, middleware';
    const site: Site = { text, defaultScope: 'app', scopes: { app: 'app' } };
    const sited = sources.map((source, i) => ({ source, site, where: `${text}[${i}]`, without: [] }));
    const route = this.route(sited, text, []);
    this.before = route.unconditional;
    return route;
  }

  /** The handler's name in keys, `POST /api/rides`, whether anything limits it or not. */
  placeOf(controller: Type, handler: Handler): string {
    const declared = declaredHandler(controller, handler);
    this.of(controller, declared);
    return this.places.get(declared)!.get(controller)!;
  }

  boundTo(name: string): Iterable<BoundPolicy> {
    return this.bound.of(name);
  }

  /** The names of the policies that stand on routes. */
  policyNames(): Iterable<string> {
    return this.bound.names();
  }

  private resolve(controller: Type, handler: Handler): Route | undefined {
    const { sources, skipped } = sourcesOf(controller, handler, this.defaults);
    // Every route has its name, limited or not: which of two gets the second name must not depend on their policies.
    const scopes = {
      route: this.names.name(routeOf(controller, handler)),
      controller: this.controller(controller),
      app: 'app',
    };
    const places = this.places.get(handler) ?? new Map<Type, string>();
    this.places.set(handler, places.set(controller, scopes.route));
    const name = handlerNameOf(controller, handler);
    checkSkips(controller, handler, name, this.defaults, this.named);
    if (sources.length === 0) return undefined;
    const sites: Readonly<Record<SourcePlace, Site>> = {
      method: { text: `${name}, @RateLimit`, defaultScope: 'route', scopes },
      class: { text: `${controller.name}, @RateLimit`, defaultScope: 'controller', scopes },
      defaults: { text: `RateLimitModule, defaults (for ${name})`, defaultScope: 'route', scopes },
    };
    const placed = sources.map(({ place, index, of, ...source }): SitedSource => {
      const site = sites[place];
      return { ...source, site, where: of === 1 ? site.text : `${site.text}, policy ${index + 1} of ${of}` };
    });
    const isMixed = new Set(placed.map(({ site }) => site)).size > 1;
    return this.route(
      placed,
      isMixed ? `${name}, @RateLimit with the module's defaults` : placed[0]!.site.text,
      skipped,
    );
  }

  /**
   * @param text how messages about several of the sources begin
   * @param skipped names of the module's defaults that the handler skips
   */
  private route(sources: readonly SitedSource[], text: string, skipped: readonly string[]): Route {
    const binds = new Map<Site, Bind>();
    const bindAt = (site: Site): Bind => {
      let bind = binds.get(site);
      if (bind === undefined) binds.set(site, (bind = this.binder(site)));
      return bind;
    };
    const given = sources.flatMap(({ source, site, where }) =>
      isChooser(source) ? [] : bindAt(site)(source, false, where),
    );
    checkTogether(given, text);
    if (!sources.some(({ source }) => isChooser(source))) {
      return {
        ...routeTraitsOf(withElse(given)),
        fixed: given.every(isFixed) ? given : undefined,
        policies: () => given,
        staticPolicies: given,
        unconditional: given,
      };
    }
    this.hasChoosers = true;
    const { before } = this;
    const choices = sources.map(({ source, site, without }) => {
      const bind = bindAt(site);
      return isChooser(source)
        ? this.choice(source, site, bind, given, [...skipped, ...without], without)
        : (): Choice => ({ policies: [bind(source)], isFallback: false });
    });
    return {
      ...CHOSEN_TRAITS,
      fixed: undefined,
      staticPolicies: undefined,
      unconditional: given,
      policies: async (context) => {
        const chosen = await allInOrder(choices.map(async (choose) => choose(context)));
        const policies = standingTogether(withoutConflicts(chosen, text));
        checkTogether(policies, text);
        checkOnePlace(before, policies, context.getType(), text);
        return policies;
      },
    };
  }

  /** Binds policies to a site, each once. */
  private binder(site: Site): Bind {
    const bound = new WeakMap<ParsedPolicy<ExecutionContext>, BoundPolicy>();
    return (source, chosen = false, where = site.text) => {
      // What a function returns is a policy or a name: its class can be a function of the request.
      const parsed = chosen ? this.named.parse(source, where) : this.uses.parse(source, where);
      let policy = bound.get(parsed);
      if (policy === undefined) bound.set(parsed, (policy = this.bind(parsed, site, chosen)));
      return policy;
    };
  }

  /**
   * Asks a policy function. When the function fails, or returns no policy, its fallback takes its place. Without a fallback, a
   * returned value that is no policy is an error: a client that influences the function could otherwise avoid the limit.
   *
   * @param withoutDefaults names of the module's defaults that must not take its place
   * @param without names of policies that it must not choose
   */
  private choice(
    source: PolicyFunction | PolicyChoice,
    site: Site,
    bind: Bind,
    given: readonly BoundPolicy[],
    withoutDefaults: readonly string[],
    without: readonly string[],
  ): (context: ExecutionContext) => Promise<Choice> {
    const { choose, fallback } = checkChoice(source, site.text);
    const fallbacks =
      fallback === undefined
        ? this.defaultsBeside(given, site, bind, withoutDefaults)
        : [bind(fallback)].filter(({ name }) => !without.includes(name));
    checkTogether([...given, ...fallbacks], site.text);
    const names = fallbacks.map(({ name }) => `'${name}'`).join(', ');
    const instead = fallbacks.length === 0 ? 'the request passes without it' : `${names} takes its place`;
    const failed = Symbol('failed');
    const warning = `${site.text}: a policy function failed, ${instead}`;
    const fallbackChoice: Choice = { policies: fallbacks, isFallback: true };
    const replaced = (error: RateLimitConfigError): Choice => {
      this.functions.failed('policy', warning, error);
      return fallbackChoice;
    };
    const otherwise = fallbacks.length === 0 ? undefined : replaced;
    return async (context) => {
      const chosen: unknown = await this.functions.call<unknown>(
        'policy',
        warning,
        () => choose(requestOf(context), context),
        () => failed,
        choose,
        context,
      );
      if (chosen === failed) return fallbackChoice;
      try {
        const policies = [bind(chosen as PolicySource, true)].filter(({ name }) => !without.includes(name));
        return { policies, isFallback: false, instead: otherwise };
      } catch (error) {
        if (otherwise === undefined || !(error instanceof RateLimitConfigError)) throw error;
        return otherwise(error);
      }
    };
  }

  /** The module's defaults that can stand at the site, beside its other policies. */
  private defaultsBeside(
    given: readonly BoundPolicy[],
    site: Site,
    bind: Bind,
    without: readonly string[],
  ): readonly BoundPolicy[] {
    const hasScope = (source: PolicySource): boolean => {
      const { scope = site.defaultScope } = this.uses.parse(source, site.text);
      return site.scopes[scope] !== undefined;
    };
    return this.defaults
      .filter((source) => !isChooser(source) && hasScope(source))
      .map((source) => bind(source))
      .filter((policy) => !without.includes(policy.name) && given.every((other) => canStandTogether(policy, other)));
  }

  /** @param chosen whether a function has chosen it for a request */
  private bind(parsed: ParsedPolicy<ExecutionContext>, site: Site, chosen: boolean): BoundPolicy {
    for (const warning of parsed.warnings) this.warnOnce(withHelp(`${site.text}: ${warning}`, 'FG_POLICY_NUMBERS'));
    this.warnOfLack(parsed, site);
    const wanted = parsed.scope ?? site.defaultScope;
    const scope = site.scopes[wanted];
    if (scope === undefined) {
      throw new RateLimitConfigError(
        site.text,
        `policy '${parsed.name}' has scope '${wanted}', but a request has no route yet: 'app' is right, or no scope`,
        'FG_INVALID_POLICY',
      );
    }
    if (wanted === 'app' && !parsed.named) {
      throw new RateLimitConfigError(
        site.text,
        `a policy needs a name, got ${parsed.algorithm.name} without one`,
        'FG_POLICY_NAME',
      );
    }
    this.notePlans(parsed, site);
    const next = parseElse(parsed, this.named, site.text);
    // What an `else` names counts in the application, unless it says another scope.
    const instead = next && this.bind({ ...next, scope: next.scope ?? 'app' }, site, chosen);
    const bound = bindPolicy(parsed, this.keyPrefix, scope, site.text, instead);
    const { claims } = this.named;
    if (chosen) {
      const conflict = claims.meet(scope, parsed, site.text);
      if (conflict !== undefined) this.warnOnce(conflict);
    } else claims.claim(scope, parsed, site.text);
    this.bound.add(bound);
    return bound;
  }

  private notePlans(policy: ParsedPolicy<ExecutionContext>, site: Site): void {
    if (policy.plans === undefined) return;
    this.plans.add(policy.plans);
    if (!this.hasPlan) throw withoutPlan(policy, site.text);
    if (this.identities.countsAddresses(policy)) this.warnOfLackOnce(policy.name, sharedPlans(policy, site.text));
  }

  /** Warns once for each name: a policy of the module's `defaults` is bound to every route. */
  private warnOfLack(policy: ParsedPolicy<ExecutionContext>, site: Site): void {
    const lack = this.identities.lackOf(policy);
    if (lack !== undefined) this.warnOfLackOnce(policy.name, `${site.text}: policy '${policy.name}' ${lack}`);
  }

  private warnOfLackOnce(name: string, message: string): void {
    if (this.lacking.has(name) || this.lacking.size >= MAX_WARNINGS) return;
    this.lacking.add(name);
    this.logger.warn(withHelp(message, 'FG_NO_RESOLVER'));
  }

  /** Logs a warning once: a function may create its policy anew for every request. */
  private warnOnce(message: string): void {
    if (this.warned.has(message) || this.warned.size >= MAX_WARNINGS) return;
    this.warned.add(message);
    this.logger.warn(message);
  }

  private controller(controller: Type): string {
    let name = this.controllers.get(controller);
    if (name === undefined) this.controllers.set(controller, (name = this.names.name(controllerOf(controller))));
    return name;
  }
}

function isFixed(policy: BoundPolicy): boolean {
  return typeof policy.cost === 'number' && policy.skipIf === undefined && !hasZoneOfRequest(policy);
}

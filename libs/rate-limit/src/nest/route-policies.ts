import type { ExecutionContext, Type } from '@nestjs/common';
import { RATE_LIMIT } from './decorators/metadata.js';
import type { IdentityChain } from '../identity/identity-chain.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { keyTail } from '../policy/key.js';
import type { NamedPolicies } from '../policy/named-policies.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import type { PolicyScope, PolicySource } from '../policy/policy.js';
import { controllerOf, type Handler, routeOf, UniqueNames } from './route.js';

/** A policy on a route: what it says, and what its keys end with there. */
export interface BoundPolicy extends ParsedPolicy {
  readonly keyTail: string;
}

/** The policies of one handler. */
export interface Route {
  /** The policies of every request, when none of them, nor its cost or `skipIf`, is a function of the request. */
  readonly fixed: readonly BoundPolicy[] | undefined;
  /** The policies of a request; a promise only where a function chooses one. */
  readonly policies: (context: ExecutionContext) => readonly BoundPolicy[] | Promise<readonly BoundPolicy[]>;
  /** The same without a request, when no function chooses them; whether `skipIf` leaves one out is not known then. */
  readonly given: readonly BoundPolicy[] | undefined;
}

interface Place {
  /** How error messages begin. */
  readonly text: string;
  readonly defaultScope: PolicyScope;
  readonly scopes: Readonly<Partial<Record<PolicyScope, string>>>;
}

/** More would not fit one question to Redis; more than a handful is a mistake. */
const MAX_TOGETHER = 32;
/** Different ones that are said. */
const MAX_WARNINGS = 1000;

/** Resolves handlers to their policies, once for each (class, handler). */
export class RoutePolicies {
  private readonly routes = new Map<Handler, Map<Type, Route | undefined>>();
  private readonly controllers = new Map<Type, string>();
  /** Of routes and controllers together: a class may be named GET. */
  private readonly names = new UniqueNames();
  private readonly warned = new Set<string>();
  private readonly lacking = new Set<string>();

  constructor(
    private readonly named: NamedPolicies,
    private readonly defaults: readonly PolicySource[],
    private readonly keyPrefix: string,
    private readonly identities: Pick<IdentityChain, 'lackOf'>,
    private readonly warn: (message: string) => void,
  ) {
    for (const policy of defaults) {
      if (typeof policy === 'function') continue;
      const place = 'RateLimitModule, defaults';
      const parsed = named.parse(policy, place);
      // Also where no route is left for it.
      if (parsed.scope === 'app') named.meanings.claim('app', parsed, place);
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
      route = this.resolve(controller, handler);
      byController.set(controller, route);
    }
    return route;
  }

  /**
   * What limits requests before they are routed, or undefined when that is nothing.
   *
   * @throws {RateLimitConfigError} for the first policy that cannot
   */
  beforeRouting(sources: readonly PolicySource[]): Route | undefined {
    if (sources.length === 0) return undefined;
    return this.route(sources, { text: 'RateLimitModule, middleware', defaultScope: 'app', scopes: { app: 'app' } });
  }

  private resolve(controller: Type, handler: Handler): Route | undefined {
    const own = Reflect.getMetadata(RATE_LIMIT, handler) as readonly PolicySource[] | undefined;
    const shared = Reflect.getMetadata(RATE_LIMIT, controller) as readonly PolicySource[] | undefined;
    const sources = own ?? shared ?? this.defaults;
    // Every route has its name, limited or not: which of two gets the second name must not depend on their policies.
    const scopes = {
      route: this.names.name(routeOf(controller, handler)),
      controller: this.controller(controller),
      app: 'app',
    };
    if (sources.length === 0) return undefined;
    const name = `${controller.name}.${handler.name}`;
    const decorated = own !== undefined ? name : controller.name;
    const place: Place = {
      text: (own ?? shared) ? `${decorated}, @RateLimit` : `RateLimitModule, defaults (for ${name})`,
      defaultScope: own === undefined && shared !== undefined ? 'controller' : 'route',
      scopes,
    };
    return this.route(sources, place);
  }

  private route(sources: readonly PolicySource[], place: Place): Route {
    const bound = new WeakMap<ParsedPolicy, BoundPolicy>();
    const bind = (source: PolicySource, chosen = false): BoundPolicy => {
      const parsed = this.named.parse(source, place.text);
      let policy = bound.get(parsed);
      if (policy === undefined) {
        policy = this.bind(parsed, place, chosen);
        bound.set(parsed, policy);
      }
      return policy;
    };
    const given = sources.filter((source) => typeof source !== 'function').map((source) => bind(source));
    checkTogether(given, place.text);
    if (given.length === sources.length)
      return { fixed: given.every(isFixed) ? given : undefined, policies: () => given, given };
    return {
      fixed: undefined,
      given: undefined,
      policies: async (context) => {
        // Asynchronous, so that one that throws leaves no promise of another one behind that nobody waits for.
        const choose = async (source: PolicySource): Promise<unknown> =>
          typeof source === 'function' ? source(context) : source;
        const chosen = await Promise.all(sources.map(choose));
        const policies = chosen.map((source) => bind(source as PolicySource, true));
        checkTogether(policies, place.text);
        return policies;
      },
    };
  }

  /** @param chosen whether a function has chosen it for a request */
  private bind(parsed: ParsedPolicy, place: Place, chosen: boolean): BoundPolicy {
    for (const warning of parsed.warnings) this.warnOnce(`${place.text}: ${warning}`);
    this.warnOfLack(parsed, place);
    const wanted = parsed.scope ?? place.defaultScope;
    const scope = place.scopes[wanted];
    if (scope === undefined) {
      throw new RateLimitConfigError(
        place.text,
        `policy '${parsed.name}' has scope '${wanted}', but a request has no route yet: 'app' is right, or no scope`,
      );
    }
    if (wanted === 'app' && !parsed.named) {
      throw new RateLimitConfigError(place.text, `a policy needs a name, got ${parsed.algorithm.name} without one`);
    }
    const tail = keyTail(this.keyPrefix, scope, parsed, place.text);
    const { meanings } = this.named;
    if (chosen) {
      const conflict = meanings.meet(scope, parsed, place.text);
      if (conflict !== undefined) this.warn(conflict);
    } else meanings.claim(scope, parsed, place.text);
    return { ...parsed, keyTail: tail };
  }

  /** Once for a name: a policy of the module's `defaults` is bound to every route. */
  private warnOfLack(policy: ParsedPolicy, place: Place): void {
    const lack = this.identities.lackOf(policy);
    if (lack === undefined || this.lacking.has(policy.name) || this.lacking.size >= MAX_WARNINGS) return;
    this.lacking.add(policy.name);
    this.warn(`${place.text}: policy '${policy.name}' ${lack}`);
  }

  /** A function may give a policy anew for every request. */
  private warnOnce(message: string): void {
    if (this.warned.has(message) || this.warned.size >= MAX_WARNINGS) return;
    this.warned.add(message);
    this.warn(message);
  }

  private controller(controller: Type): string {
    let name = this.controllers.get(controller);
    if (name === undefined) this.controllers.set(controller, (name = this.names.name(controllerOf(controller))));
    return name;
  }
}

function isFixed({ cost, skipIf }: ParsedPolicy): boolean {
  return typeof cost === 'number' && skipIf === undefined;
}

/**
 * What the policies of one request must not be: two of one name, whose keys would be the same, or two queues, between whose
 * slots a request could not choose.
 */
export function checkTogether(policies: readonly ParsedPolicy[], place: string): void {
  if (policies.length < 2) return;
  if (policies.length > MAX_TOGETHER) {
    throw new RateLimitConfigError(
      place,
      `at most ${MAX_TOGETHER} policies can stand together, got ${policies.length}`,
    );
  }
  if (policies.filter(({ named }) => !named).length > 1) {
    throw new RateLimitConfigError(
      place,
      `${policies.length} policies stand together and not all have a name: give each its own`,
    );
  }
  const names = policies.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new RateLimitConfigError(
      place,
      `two policies are named '${twice}' and would count under one key: give each its own name`,
    );
  }
  if (policies.filter(({ algorithm }) => algorithm.name === 'leaky-bucket').length > 1) {
    throw new RateLimitConfigError(
      place,
      'at most one leaky-bucket policy can delay a request, got several: name one of them a token-bucket',
    );
  }
}

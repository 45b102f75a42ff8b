import type { BoundPolicy } from '../../policy/bound-policy.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import type { OverridablePolicies } from '../overrides/override-calls.js';
import { unknownName } from '../../engine/calls/call-arguments.js';
import type { KnownHandler } from './limit-table.js';

/** A handler's class. */
export interface HandlerClass {
  readonly name: string;
  readonly prototype: object;
}

/** A route: its class and method, or its name as in `TableRoute.route` or `TableRoute.handler`. */
export type RouteReference = readonly [controller: HandlerClass, method: string] | string;

/** One policy or one route, for `RateLimiter.peek`, `reset` and `explain`: a text is a policy's name, else a route's. */
export type LimitReference =
  | RouteReference
  | {
      /** The name of a policy. */
      readonly policy: string;
    }
  | {
      /** A route: its class and method, or its name. */
      readonly route: RouteReference;
    };

/** What a reference means: the policies, and the route where it is one. */
interface Referred {
  readonly handler: KnownHandler | undefined;
  readonly policies: readonly BoundPolicy[];
}

/** The handlers of the application, as the framework knows them. */
export interface HandlerDirectory {
  /** What limits all traffic. */
  readonly middleware: {
    readonly chosen: boolean;
    readonly policies: readonly BoundPolicy[];
    readonly except: readonly string[];
  };
  handlers(): readonly KnownHandler[];
  /** @throws {RateLimitConfigError} when the class has no such handler @param where how the error begins */
  handlerOf(controller: HandlerClass, method: string, where: string): KnownHandler;
}

/** Finds the policies that a reference means. */
export class LimitReferences {
  constructor(
    private readonly places: HandlerDirectory,
    private readonly policies: OverridablePolicies,
  ) {}

  /** Whether a text is the name of a policy. */
  isPolicy(name: string): boolean {
    return this.policies.places(name).length > 0;
  }

  /** Whether a text that names no policy means a route. Names of HTTP routes contain a path. */
  isRoute(name: string): boolean {
    if (name.includes('/')) return true;
    return this.places.handlers().some(({ route, handler }) => route === name || handler === name);
  }

  /** @throws {RateLimitConfigError} for an unknown name */
  referred(what: LimitReference, where: string): Referred {
    const { policies } = this;
    const { policy, route = what } = (isNamed(what) ? what : {}) as { policy?: unknown; route?: unknown };
    if (policy !== undefined && typeof policy !== 'string') {
      throw new RateLimitConfigError(where, `policy must be a name, got ${shown(policy)}`);
    }
    const name = policy ?? what;
    const named = typeof name === 'string' ? policies.places(name) : [];
    if (named.length > 0) return { handler: undefined, policies: named };
    if (typeof name === 'string' && (policy !== undefined || !this.isRoute(name))) {
      throw unknownName('policy', name, policies.names(), where);
    }
    const handler = this.handlerOf(route as RouteReference, where);
    return { handler, policies: this.policiesOf(handler) };
  }

  /**
   * The policies of a handler that are known without a request.
   *
   * @throws {RateLimitConfigError} when a function chooses them
   */
  known(handler: KnownHandler, where: string): readonly BoundPolicy[] {
    if (!handler.chosen) return this.policiesOf(handler);
    throw new RateLimitConfigError(
      where,
      `${handler.handler} has policies that a function chooses: there is none without a request`,
    );
  }

  private handlerOf(route: RouteReference, where: string): KnownHandler {
    const { places } = this;
    if (Array.isArray(route)) {
      const [controller, method] = route as [HandlerClass, string];
      return places.handlerOf(controller, method, where);
    }
    if (typeof route !== 'string') {
      throw new RateLimitConfigError(
        where,
        `route must be [Controller, 'method'] or a name such as 'POST /rides' or 'RidesController.request', got ${shown(route)}`,
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
  private policiesOf({ countedBefore, guarded, policies }: KnownHandler): readonly BoundPolicy[] {
    const before = countedBefore ? this.places.middleware.policies : [];
    return unique([...before, ...(guarded ? policies : [])]);
  }

  allPolicies(): readonly BoundPolicy[] {
    const { policies } = this;
    return unique(policies.names().flatMap((name) => policies.places(name)));
  }
}

/** Whether a value refers to a policy by its name, or to a route: a text, a class with a method, `{ policy }` or `{ route }`. */
export function isReference(given: unknown): given is LimitReference {
  return typeof given === 'string' || isNamed(given) || (Array.isArray(given) && typeof given[0] === 'function');
}

function isNamed(given: unknown): given is { readonly policy: string } | { readonly route: RouteReference } {
  return typeof given === 'object' && given !== null && ('policy' in given || 'route' in given);
}

/** Removes policies that share the state of an earlier one, which has the same key tail. */
function unique(policies: readonly BoundPolicy[]): readonly BoundPolicy[] {
  return [...new Map(policies.map((policy) => [policy.keyTail, policy])).values()];
}

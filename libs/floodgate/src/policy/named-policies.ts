import { RateLimitConfigError, shown } from '../util/config-error.js';
import { didYouMean } from '../util/nearest-name.js';
import { LruMap } from '../util/lru-map.js';
import { parseElse } from './else-policies.js';
import { StateClaims } from './state-claims.js';
import { type ParsedPolicy, parsePolicy } from './parse-policy.js';
import type { Policy } from './policy.js';
import { POLICY_OPTIONS } from './policy-options.js';

/** Distinct values of policy functions and of `RateLimiter` calls that are kept parsed. */
const MAX_PARSED = 1000;

/** How deep options can lie, such as the time zone of a plan's window. */
const MAX_DEPTH = 3;
/** Stands for any object below that: no option takes one, and not every object becomes text. */
const NO_VALUE = 'an object';

/** Parses every policy once: the named ones at boot, others when they are first met. */
export class NamedPolicies<Context = never> {
  /** The policies that count under each key. */
  readonly claims = new StateClaims();
  private readonly named = new Map<string, ParsedPolicy<Context>>();
  private readonly byContent = new LruMap<ParsedPolicy<Context>>(MAX_PARSED);
  private readonly functions = new WeakMap<object, number>();
  private functionCount = 0;

  /**
   * @param named how errors begin: what the policies were given to
   * @param hasRoutes whether policies may count on routes, which other scopes than `'app'` need
   * @throws {RateLimitConfigError} for the first policy that is wrong
   */
  constructor(
    policies: Readonly<Record<string, Policy<Context>>> = {},
    named = 'createLimiter',
    private readonly hasRoutes = true,
  ) {
    for (const [name, policy] of Object.entries(policies)) {
      const where = `${named}, policies.${name}`;
      const rule = POLICY_OPTIONS.name;
      if (!rule.valid(name)) throw new RateLimitConfigError(where, `a name must be ${rule.wanted}`, 'FG_POLICY_NAME');
      if (policy?.name !== undefined && policy.name !== name) {
        throw new RateLimitConfigError(
          where,
          `name must be ${shown(name)} or left out, got ${shown(policy.name)}`,
          'FG_POLICY_NAME',
        );
      }
      const parsed = this.parsed(policy, where, name);
      this.named.set(name, parsed);
      // RateLimiter counts it across the application.
      this.claims.claim('app', parsed, where);
    }
    for (const [name, parsed] of this.named) parseElse(parsed, this, `${named}, policies.${name}`);
  }

  has(name: string): boolean {
    return this.named.has(name);
  }

  [Symbol.iterator](): Iterator<ParsedPolicy<Context>> {
    return this.named.values();
  }

  /**
   * @param where how error messages begin
   * @throws {RateLimitConfigError} for an unknown name or a wrong policy
   */
  parse(policy: unknown, where: string): ParsedPolicy<Context> {
    if (typeof policy === 'string') {
      const known = this.named.get(policy);
      if (known !== undefined) return known;
      const names = [...this.named.keys()];
      const all =
        names.length === 0 ? 'The option policies is empty' : `The option policies has ${names.map(shown).join(', ')}`;
      throw new RateLimitConfigError(
        where,
        `there is no policy named ${shown(policy)}.${didYouMean(policy, names)} ${all}`,
        'FG_UNKNOWN_POLICY',
      );
    }
    if (typeof policy !== 'object' || policy === null) return this.parsed(policy, where);
    // Compared by content, not by identity: a function may return one object with other numbers each time.
    const content = this.content(policy);
    let parsed = this.byContent.get(content);
    if (parsed === undefined) this.byContent.set(content, (parsed = this.parsed(policy, where)));
    return parsed;
  }

  private parsed(policy: unknown, where: string, name?: string): ParsedPolicy<Context> {
    const parsed = parsePolicy<Context>(policy, where, name);
    if (!this.hasRoutes) expectNoRoute(parsed, where);
    return parsed;
  }

  /** Equal for policies of equal options. A function equals only itself. */
  private content(policy: object, depth = 0): string {
    return JSON.stringify(
      Object.entries(policy)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([option, value]: [string, unknown]) => [option, typeof value, this.textOf(value, depth)]),
    );
  }

  private textOf(value: unknown, depth: number): string {
    if (typeof value === 'object' && value !== null)
      return depth === MAX_DEPTH ? NO_VALUE : this.content(value, depth + 1);
    if (typeof value !== 'function') return String(value);
    let id = this.functions.get(value);
    if (id === undefined) this.functions.set(value, (id = ++this.functionCount));
    return String(id);
  }
}

/** @throws {RateLimitConfigError} for a policy whose scope needs a route of Nest */
export function expectNoRoute({ scope = 'app' }: Pick<ParsedPolicy, 'scope'>, where: string): void {
  if (scope === 'app') return;
  throw new RateLimitConfigError(
    where,
    `scope '${scope}' needs a route of Nest: leave it out, and give each route a policy of its own`,
    'FG_INVALID_POLICY',
  );
}

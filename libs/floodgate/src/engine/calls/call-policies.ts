import { type BoundPolicy, bindPolicy } from '../../policy/bound-policy.js';
import { checkTogether } from '../../policy/check-together.js';
import { parseElse } from '../../policy/else-policies.js';
import type { KeyPrefix } from '../../policy/key.js';
import type { StateClaims } from '../../policy/state-claims.js';
import type { ParsedPolicy } from '../../policy/parse-policy.js';
import type { Policy } from '../../policy/policy.js';
import { SCHEDULED, whyNotTogether } from '../../policy/together.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { withHelp } from '../../util/error-codes.js';
import { checkOrder, isIdentity, unknownName } from './call-arguments.js';
import { LimiterClosedError } from '../../charges/errors.js';
import type { Logger } from '../../util/logger.js';

const WHERE = 'RateLimiter';
const SCOPE = 'app';
const CODE = 'FG_POLICIES_TOGETHER';

/** The most warnings to remember: code that writes a policy inline creates a new one for each call. */
const MAX_WARNINGS = 1000;

/** The most names to remember, and the most policies of one name: code can create any number of both. */
const MAX_KNOWN = 1000;
const MAX_SAME_NAME = 20;

/** A policy with a name, or a name: of one in the option `policies`, or of a policy with scope `'app'` on a route. */
export type LimiterPolicy = Policy | string;

/** The policies that stand on routes, by name. */
export interface PoliciesOfRoutes {
  boundTo(name: string): Iterable<BoundPolicy>;
  policyNames(): Iterable<string>;
}

/** Parses policies, each once. It iterates over those that have a name of their own. */
export interface PolicyParser extends Iterable<{ readonly name: string }> {
  readonly claims: StateClaims;
  has(name: string): boolean;
  parse(policy: unknown, where: string): ParsedPolicy;
}

/** How a call uses its policies. Each use ignores some policy options. */
type Use = 'consume' | 'reserve' | 'schedule' | 'peek';
/** The methods of `RateLimiter` that decide by policies. */
const USES = {
  consume: 'consume',
  consumeSync: 'consume',
  acquire: 'consume',
  reserve: 'reserve',
  schedule: 'schedule',
  pause: 'peek',
  peek: 'peek',
} as const satisfies Record<string, Use>;
export type LimiterMethod = keyof typeof USES;

/** Policy names, and the policies that they are bound to. */
interface LastBound {
  names: string | readonly string[];
  bound: readonly BoundPolicy[];
}

const NOTHING: readonly BoundPolicy[] = [];

/** Binds the policies that code names to the application: each is parsed once. */
export class CallPolicies {
  private readonly bound = new WeakMap<ParsedPolicy, BoundPolicy>();
  /** Bound policies by the names in a call, one name or several. The code that names them bounds their number. */
  private readonly byName: Readonly<Record<Use, Map<string, readonly BoundPolicy[]>>> = {
    consume: new Map(),
    reserve: new Map(),
    schedule: new Map(),
    peek: new Map(),
  };
  /** The names of the last call of each use: most callers repeat them. */
  private readonly last: Readonly<Record<Use, LastBound>> = {
    consume: { names: '', bound: NOTHING },
    reserve: { names: '', bound: NOTHING },
    schedule: { names: '', bound: NOTHING },
    peek: { names: '', bound: NOTHING },
  };
  private isOver = false;
  private readonly warned = new Set<string>();
  /** All bound policies by name, for look-ups. */
  private readonly known = new Map<string, Map<string, BoundPolicy>>();
  /** Policies whose ineffective options were logged. */
  private readonly checked: Readonly<Record<Exclude<Use, 'peek'>, WeakSet<BoundPolicy>>> = {
    consume: new WeakSet(),
    reserve: new WeakSet(),
    schedule: new WeakSet(),
  };

  /**
   * @param keyPrefix how keys begin
   * @param routes whose policies a call can name, too
   * @param mayPrefetch whether processes can prefetch tokens from the store
   */
  constructor(
    private readonly named: PolicyParser,
    private readonly keyPrefix: KeyPrefix,
    private readonly routes: PoliciesOfRoutes,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly mayPrefetch = true,
  ) {}

  /**
   * Binds the policies of a call. Logs their options that have no effect on this method.
   *
   * @param method what was called, for the errors
   * @throws {RateLimitConfigError} when a policy is wrong, unknown or has no name
   * @throws {LimiterClosedError} once `end` was called
   */
  bind(policies: LimiterPolicy | readonly LimiterPolicy[], method: LimiterMethod): readonly BoundPolicy[] {
    this.expectOpen();
    const use = USES[method];
    const last = this.last[use];
    if (last.bound !== NOTHING && isSame(last.names, policies)) return last.bound;
    const names = namesOf(policies);
    const looks = method === 'peek';
    if (names === undefined) return this.usedFor(use, this.bindAll(policies, `${WHERE}.${method}`, looks), true);
    const known = this.byName[use];
    let bound = known.get(names);
    if (bound === undefined) {
      bound = this.usedFor(use, this.bindAll(policies, `${WHERE}.${method}`, looks), false);
      // A policy of one route may stand on others later.
      if (bound.some(({ boundTo }) => boundTo !== SCOPE)) return bound;
      known.set(names, bound);
    }
    last.names = typeof policies === 'string' ? policies : [...(policies as readonly string[])];
    last.bound = bound;
    return bound;
  }

  /** @throws {LimiterClosedError} once `end` was called */
  expectOpen(): void {
    if (this.isOver) throw new LimiterClosedError();
  }

  /** Ends all calls: a limiter that has closed would decide by fresh limits of its own. */
  end(): void {
    this.isOver = true;
  }

  /**
   * Binds policies without charging them. Logs no options, since each may have an effect elsewhere.
   *
   * @param looks whether the call looks at a state, and so may name a policy of one route
   */
  bindAll(policies: LimiterPolicy | readonly LimiterPolicy[], where = WHERE, looks = false): BoundPolicy[] {
    const list = Array.isArray(policies) ? (policies as readonly LimiterPolicy[]) : [policies as LimiterPolicy];
    const [, method] = where.split(`${WHERE}.`);
    for (const one of list) if (method !== undefined && isIdentity(one)) checkOrder(method, one, undefined);
    if (list.length === 0)
      throw new RateLimitConfigError(where, 'takes at least one policy or name, got none', 'FG_INVALID_POLICY');
    const bound = list.map((policy, i) =>
      this.bindOne(policy, list.length === 1 ? where : `${where}, policy ${i + 1} of ${list.length}`, looks),
    );
    checkTogether(bound, where);
    return bound;
  }

  /** @param isInline whether the code writes some of the policies inline: boot has not checked these */
  private usedFor(use: Use, policies: readonly BoundPolicy[], isInline: boolean): readonly BoundPolicy[] {
    if (use === 'peek') return policies;
    const checked = this.checked[use];
    for (const policy of policies) {
      const why = use === 'schedule' ? whyNotTogether(policy, SCHEDULED, 'schedule') : undefined;
      if (why !== undefined) throw new RateLimitConfigError(`${WHERE}.schedule, policy '${policy.name}'`, why, CODE);
      if (checked.has(policy)) continue;
      checked.add(policy);
      const { name, scope = SCOPE, skipIf, countIf, settle } = policy;
      if (skipIf !== undefined) {
        this.warnWithoutEffect(name, 'a skipIf, which needs a request: RateLimiter charges it all the same');
      }
      if (isInline && use !== 'reserve' && policy.prefetch !== undefined && !this.mayPrefetch) {
        this.warnWithoutEffect(name, 'prefetch, which needs Redis with its own clock: this store decides each request');
      }
      // A reservation is settled by code, and a scheduled call by these options.
      if (use === 'consume' && (countIf !== undefined || settle !== undefined)) {
        const option = countIf === undefined ? 'a settle' : 'a countIf';
        this.warnWithoutEffect(name, `${option}, which needs a request: call RateLimiter.reserve, and settle that`);
      }
      if (scope !== SCOPE) {
        this.warnWithoutEffect(name, `scope '${scope}', which needs a route: RateLimiter counts it with scope 'app'`);
      }
    }
    return policies;
  }

  private bindOne(policy: LimiterPolicy, where: string, looks: boolean): BoundPolicy {
    if (typeof policy === 'string' && !this.named.has(policy)) return this.standing(policy, where, looks);
    return this.bindParsed(this.named.parse(policy, where), where);
  }

  /** The policy that a route, or code before, has under a name that none in the option `policies` has. */
  private standing(name: string, where: string, looks: boolean): BoundPolicy {
    const places = [...this.routes.boundTo(name), ...this.boundTo(name)];
    if (places.length === 0) {
      const names = [...Array.from(this.named, (one) => one.name), ...this.routes.policyNames(), ...this.names()];
      throw unknownName('policy', name, [...new Set(names)], where);
    }
    const shared = places.find(({ boundTo }) => boundTo === SCOPE);
    if (shared !== undefined) return shared;
    if (looks && places.length === 1) return places[0]!;
    const at = places.map(({ boundTo }) => shown(boundTo)).join(', ');
    throw new RateLimitConfigError(
      where,
      looks
        ? `policy ${shown(name)} counts at several places (${at}): name one of them, as in { route: ${shown(places[0]!.boundTo)} }`
        : `policy ${shown(name)} counts at ${at} alone, and RateLimiter across the application: give it scope: 'app' and a place in the option ` +
            `policies`,
      'FG_UNKNOWN_POLICY',
    );
  }

  private bindParsed(parsed: ParsedPolicy, where: string): BoundPolicy {
    if (!parsed.named) throw new RateLimitConfigError(where, 'a policy outside a route needs a name', 'FG_POLICY_NAME');
    let bound = this.bound.get(parsed);
    if (bound === undefined) {
      const next = parseElse(parsed, this.named, where);
      bound = bindPolicy(parsed, this.keyPrefix, SCOPE, where, next && this.bindParsed(next, where));
      const conflict = this.named.claims.meet(SCOPE, parsed, WHERE);
      if (conflict !== undefined) this.warnOnce(conflict);
      this.bound.set(parsed, bound);
      this.remember(bound);
    }
    return bound;
  }

  /** Whether `peek` was called with this policy name before. */
  wasPeeked(name: string): boolean {
    return this.byName.peek.has(name);
  }

  /** The names of the policies that were bound. */
  names(): Iterable<string> {
    return this.known.keys();
  }

  /** The policies of this name that were bound. */
  boundTo(name: string): Iterable<BoundPolicy> {
    return this.known.get(name)?.values() ?? [];
  }

  private remember(policy: BoundPolicy): void {
    let sameName = this.known.get(policy.name);
    if (sameName === undefined) {
      if (this.known.size >= MAX_KNOWN) return;
      this.known.set(policy.name, (sameName = new Map()));
    }
    if (sameName.size < MAX_SAME_NAME) sameName.set(policy.keyTail, policy);
  }

  private warnWithoutEffect(policy: string, option: string): void {
    this.warnOnce(withHelp(`${WHERE}: policy '${policy}' has ${option}`, 'FG_OPTION_WITHOUT_EFFECT'));
  }

  private warnOnce(message: string): void {
    if (this.warned.has(message) || this.warned.size >= MAX_WARNINGS) return;
    this.warned.add(message);
    this.logger.warn(message);
  }
}

/** Whether a call names the same policies. An array may have changed since, so its members are compared. */
function isSame(names: string | readonly string[], policies: LimiterPolicy | readonly LimiterPolicy[]): boolean {
  if (typeof names === 'string' || !Array.isArray(policies)) return names === policies;
  if (names.length !== policies.length) return false;
  for (let i = 0; i < names.length; i++) if (names[i] !== policies[i]) return false;
  return true;
}

/** Joins the names (no name has a line break); undefined if a policy is not given by its name. */
function namesOf(policies: LimiterPolicy | readonly LimiterPolicy[]): string | undefined {
  if (typeof policies === 'string') return policies;
  return Array.isArray(policies) && policies.every((policy) => typeof policy === 'string')
    ? policies.join('\n')
    : undefined;
}

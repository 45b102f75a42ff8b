import { RateLimitConfigError } from '../util/config-error.js';
import { withHelp } from '../util/error-codes.js';
import type { ParsedPolicy } from './parse-policy.js';

interface Claim {
  readonly policy: ParsedPolicy;
  /** How error messages begin. */
  readonly where: string;
}

/** The most states to know: functions of requests may name any number. */
const MAX_STATES = 10_000;

/**
 * The policy that each state belongs to. Two policies of one name and scope count under one key when only their limits differ,
 * because a window's key does not carry its limit: one policy would then spend what the other admits. A bucket's key carries its numbers:
 * two buckets of one name would be two limits, and together admit more than either.
 */
export class StateClaims {
  private readonly claims = new Map<string, Claim>();
  /** Claims of calendar windows, by the state without its zone: one with a `timeZone` function, and one with a fixed zone. */
  private readonly calendars = new Map<string, { ofRequest?: Claim; fixed?: Claim }>();
  /** What boot claims, by scope and name. */
  private readonly named = new Map<string, Claim>();
  private readonly warned = new Set<string>();

  /**
   * @param scope the scope as keys contain it
   * @param where how error messages begin
   * @throws {RateLimitConfigError} when another policy counts under the same keys or has the name there, naming both
   */
  claim(scope: string, policy: ParsedPolicy, where: string): void {
    const conflict =
      this.conflict(stateOf(scope, policy), scope, policy, where) ?? this.twoLimits(scope, policy, where);
    if (conflict !== undefined) throw new RateLimitConfigError(where, conflict, 'FG_SHARED_STATE');
    const name = nameOf(scope, policy);
    if (!this.named.has(name)) this.named.set(name, { policy, where });
  }

  /**
   * Claims the state of a policy that code or a function names at run time. Its limit may depend on the request, so this
   * method does not throw.
   *
   * @returns a warning, once for each state
   */
  meet(scope: string, policy: ParsedPolicy, where: string): string | undefined {
    const state = stateOf(scope, policy);
    if (this.claims.size >= MAX_STATES && !this.claims.has(state)) return undefined;
    // A function of a route may choose other numbers for each client.
    const twice = scope === 'app' ? this.twoLimits(scope, policy, where) : undefined;
    const conflict = this.conflict(state, scope, policy, where) ?? twice;
    if (conflict === undefined || this.warned.has(state)) return undefined;
    this.warned.add(state);
    return withHelp(`${where}: ${conflict}`, 'FG_SHARED_STATE');
  }

  private conflict(state: string, scope: string, policy: ParsedPolicy, where: string): string | undefined {
    const claim = { policy, where };
    const known = this.claims.get(state) ?? this.ofAnotherZone(state, claim);
    if (known === undefined) {
      this.claims.set(state, claim);
      return undefined;
    }
    if (sameMeaning(known.policy, policy)) return undefined;
    return differ(policy, known, `both count under one key (scope '${scope}')`);
  }

  /** A policy of this name that is known since boot and counts under other keys. */
  private twoLimits(scope: string, policy: ParsedPolicy, where: string): string | undefined {
    const known = this.named.get(nameOf(scope, policy));
    // Two of one name at one place have an error of their own.
    if (
      known === undefined ||
      known.where === where ||
      sameMeaning(known.policy, policy) ||
      inOtherZone(known.policy, policy)
    )
      return undefined;
    return differ(policy, known, `both have one name (scope '${scope}'), so that each would admit its limit`);
  }

  /** The claim in another zone that conflicts: a `timeZone` function may return the fixed zone of any other policy. */
  private ofAnotherZone(state: string, claim: Claim): Claim | undefined {
    const { numbers, timeZone } = claim.policy;
    if (typeof numbers.window !== 'object') return undefined;
    const anyZone = state.slice(0, state.lastIndexOf('@'));
    let known = this.calendars.get(anyZone);
    if (known === undefined) this.calendars.set(anyZone, (known = {}));
    if (timeZone === undefined) known.fixed ??= claim;
    else known.ofRequest ??= claim;
    return timeZone === undefined ? known.ofRequest : known.fixed;
  }
}

/** Whether two policies that count under one key count the same way there, whatever a request costs. */
export function sameMeaning(one: ParsedPolicy, other: ParsedPolicy): boolean {
  if (one.elseName !== other.elseName) return false;
  if (one.algorithm === other.algorithm && one.shadow === other.shadow && one.block === other.block) {
    if (one.priorities === undefined && other.priorities === undefined) return one.shards === other.shards;
  }
  return stateOf('', one) === stateOf('', other) && described(one) === described(other);
}

function differ(policy: ParsedPolicy, known: Claim, how: string): string {
  return (
    `policy '${policy.name}' is ${described(policy)}, but '${policy.name}' of ${known.where} is ${described(known.policy)}, ` +
    `and ${how}: give one of them another name, or both the same numbers`
  );
}

/** Whether two policies count calendar windows of different time zones: a name may have one for each. */
function inOtherZone({ numbers: one }: ParsedPolicy, { numbers: other }: ParsedPolicy): boolean {
  return (
    typeof one.window === 'object' && typeof other.window === 'object' && one.window.calendar === other.window.calendar
  );
}

function nameOf(scope: string, { name }: ParsedPolicy): string {
  return `${scope}\n${name}`;
}

/** The part of a key that depends on the policy. Policies with an equal part share a state. */
function stateOf(scope: string, { name, algorithm }: ParsedPolicy): string {
  return `${scope}\n${name}\n${algorithm.name}\n${algorithm.rate}`;
}

function described({
  algorithm,
  shards,
  plans,
  shadow,
  block,
  priorities,
  thresholds,
  elseName,
}: ParsedPolicy): string {
  const all = [...(plans ?? [])].map(([plan, one]) => `${plan} (${one.algorithm.describe()})`).toSorted();
  const more = [
    algorithm.describe(),
    ...(shards > 1 ? [`shards ${shards}`] : []),
    ...(all.length > 0 ? [`plans ${all.join(', ')}`] : []),
    ...(priorities ? [`priorities ${[...priorities].map(([name, part]) => `${name} ${part}`).join(', ')}`] : []),
    ...(shadow ? [`mode 'shadow'`] : []),
    ...(block
      ? [`blockFor ${block.durations.map((duration) => duration / 1000).join(', ')} ms, blockAfter ${block.after}`]
      : []),
    ...(elseName === undefined ? [] : [`else '${elseName}'`]),
    ...(thresholds ? [`thresholds ${thresholds.join(' and ')}`] : []),
  ];
  return `a ${algorithm.name} (${more.join(', ')})`;
}

import { RateLimitConfigError } from '../util/config-error.js';
import type { ParsedPolicy } from './parse-policy.js';

interface Claim {
  readonly policy: ParsedPolicy;
  /** Where it stands. */
  readonly place: string;
}

/** States that are known; functions of requests may name any number. */
const MAX_STATES = 10_000;

/**
 * Which policy each state belongs to. Two policies of one name and scope count under one key when only their limits differ,
 * which keys of windows do not carry: then the one would spend what the other admits.
 */
export class Meanings {
  private readonly claims = new Map<string, Claim>();
  private readonly told = new Set<string>();

  /**
   * @param scope as it stands in keys
   * @param place where the policy stands, as error messages begin
   * @throws {RateLimitConfigError} when another policy counts under the same keys, naming both
   */
  claim(scope: string, policy: ParsedPolicy, place: string): void {
    const conflict = this.conflict(stateOf(scope, policy), scope, policy, place);
    if (conflict !== undefined) throw new RateLimitConfigError(place, conflict);
  }

  /**
   * The same for a policy that code or a function names while requests come: a limit may depend on the request, so this
   * one does not throw.
   *
   * @returns what to warn of, once for a state
   */
  meet(scope: string, policy: ParsedPolicy, place: string): string | undefined {
    const state = stateOf(scope, policy);
    if (this.claims.size >= MAX_STATES && !this.claims.has(state)) return undefined;
    const conflict = this.conflict(state, scope, policy, place);
    if (conflict === undefined || this.told.has(state)) return undefined;
    this.told.add(state);
    return `${place}: ${conflict}`;
  }

  private conflict(state: string, scope: string, policy: ParsedPolicy, place: string): string | undefined {
    const known = this.claims.get(state);
    if (known === undefined) {
      this.claims.set(state, { policy, place });
      return undefined;
    }
    if (sameMeaning(known.policy, policy)) return undefined;
    return (
      `policy '${policy.name}' is ${described(policy)}, but '${policy.name}' of ${known.place} is ${described(known.policy)}, ` +
      `and both count under one key (scope '${scope}'): give one of them another name, or both the same numbers`
    );
  }
}

/** Whether two policies that count under one key count the same way there. What a request costs is no part of it. */
export function sameMeaning(one: ParsedPolicy, other: ParsedPolicy): boolean {
  if (one.algorithm === other.algorithm) return one.shards === other.shards;
  return stateOf('', one) === stateOf('', other) && described(one) === described(other);
}

/** What a key says of a policy: two policies that are equal in it share a state. */
function stateOf(scope: string, { name, algorithm }: ParsedPolicy): string {
  return `${scope}\n${name}\n${algorithm.name}\n${algorithm.rate}`;
}

function described({ algorithm, shards }: ParsedPolicy): string {
  return `a ${algorithm.name} (${algorithm.describe()}${shards > 1 ? `, shards ${shards}` : ''})`;
}

import { RateLimitConfigError, shown } from '../util/config-error.js';
import { checkNames, readOption } from '../util/option-rules.js';
import type { NamedPolicies } from './named-policies.js';
import type { ParsedPolicy } from './parse-policy.js';
import type { PolicyUse } from './policy.js';
import { POLICY_OPTIONS } from './policy-options.js';
import { headroomUnder, type PolicyPriority, readPriority } from './priorities.js';

const CODE = 'FG_INVALID_POLICY';

/** Whether a source of policies is a use of a named policy with a class of its own. */
export function isPolicyUse<Context>(source: unknown): source is PolicyUse<Context> {
  return typeof source === 'object' && source !== null && 'policy' in source && !('algorithm' in source);
}

/** Parses the uses of named policies: each policy and class once, so that equal uses are one policy. */
export class PolicyUses<Context> {
  private readonly known = new Map<ParsedPolicy<Context>, Map<unknown, ParsedPolicy<Context>>>();

  constructor(private readonly named: Pick<NamedPolicies<Context>, 'parse'>) {}

  /**
   * Parses a policy, a name, or a use of a name.
   *
   * @param where how error messages begin
   * @throws {RateLimitConfigError} as `NamedPolicies.parse` does, and for a class that the policy does not have
   */
  parse(source: unknown, where: string): ParsedPolicy<Context> {
    if (!isPolicyUse<Context>(source)) return this.named.parse(source, where);
    const fail = (problem: string): never => {
      throw new RateLimitConfigError(where, problem, CODE);
    };
    checkNames(source, ['policy', 'priority'], where, 'a use of a policy');
    const { policy: name, priority } = source as { readonly policy: unknown; readonly priority?: unknown };
    if (typeof name !== 'string') {
      return fail(`policy must be the name of one in the option policies, got ${shown(name)}`);
    }
    const policy = this.named.parse(name, where);
    if (priority === undefined) {
      fail(`a use of policy ${shown(name)} needs a priority, got nothing: write ${shown(name)} alone for its own`);
    }
    readOption({ priority }, 'priority', POLICY_OPTIONS.priority, where, CODE);
    if (policy.priorities === undefined) {
      fail(
        `priority has no effect, because policy ${shown(name)} has no priorities: give it some, or write ${shown(name)} alone`,
      );
    }
    let byClass = this.known.get(policy);
    if (byClass === undefined) this.known.set(policy, (byClass = new Map()));
    let use = byClass.get(priority);
    if (use === undefined) byClass.set(priority, (use = used(policy, priority, fail)));
    return use;
  }
}

/** A policy as a use sees it: the same state and numbers, with another class. */
function used<Context>(
  policy: ParsedPolicy<Context>,
  priority: unknown,
  fail: (problem: string) => never,
): ParsedPolicy<Context> {
  const read = readPriority<Context>({ priorities: Object.fromEntries(policy.priorities!), priority }, policy, fail);
  const { plans } = policy;
  return {
    ...inClass(policy, read),
    plans: plans && new Map(Array.from(plans, ([plan, one]) => [plan, inClass(one, read)])),
  };
}

function inClass<Context>(policy: ParsedPolicy<Context>, read: PolicyPriority<Context>): ParsedPolicy<Context> {
  return { ...policy, ...read, headroom: read.priorityOf === undefined ? headroomUnder(read, policy.algorithm) : 0 };
}

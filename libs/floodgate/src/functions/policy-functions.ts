import type { RequestOf } from '../identity/request-function.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { DEFAULT_COST } from '../policy/policy-options.js';
import { defaultClass, lowestClass, unknownClass } from '../policy/priorities.js';
import { underPriority } from '../policy/under-priority.js';
import { type Answer, andThen } from '../util/answer.js';
import { shown } from '../util/config-error.js';
import { TimeZones } from './time-zones.js';
import type { UserFunctions } from './user-functions.js';

/** The functions of a request's policies: which of them it skips, what it costs, its time zone and its class. */
export class PolicyFunctions<Context extends object> {
  /** Finds the time zones of requests. */
  readonly timeZones: TimeZones<Context>;

  constructor(
    private readonly functions: UserFunctions,
    private readonly requestOf: RequestOf<Context>,
  ) {
    this.timeZones = new TimeZones(functions, requestOf);
  }

  /** The policies that a request is counted by: those whose `skipIf` does not leave it out. */
  async counting(
    policies: readonly BoundPolicy<Context>[],
    context: Context,
  ): Promise<readonly BoundPolicy<Context>[]> {
    const skipped = await Promise.all(policies.map((policy) => this.skips(policy, context)));
    return policies.filter((_, i) => !skipped[i]);
  }

  /** The cost of a request. If the cost function fails, it is that of a policy without a `cost`. */
  async costOf({ name, cost }: BoundPolicy<Context>, context: Context): Promise<number> {
    if (typeof cost === 'number') return cost;
    return this.functions.call<number>(
      'cost',
      `cost of policy '${name}' failed, the request costs ${DEFAULT_COST}`,
      () => cost(this.requestOf(context), context),
      () => DEFAULT_COST,
      cost,
      context,
    );
  }

  /**
   * The policy for the class of a request. If the `priority` function fails, that is the last class.
   *
   * @throws {TypeError} when the function returns a class that the policy does not have
   */
  inClass(policy: BoundPolicy<Context>, context: Context): Answer<BoundPolicy<Context>> {
    const { name, priorities, priorityOf } = policy;
    if (priorities === undefined || priorityOf === undefined) return policy;
    const lowest = lowestClass(priorities);
    const given = this.functions.call<unknown>(
      'priority',
      `priority of policy '${name}' failed, the request counts as ${shown(lowest)}`,
      () => priorityOf(this.requestOf(context), context),
      () => lowest,
      priorityOf,
      context,
    );
    return andThen(given, (answer) => {
      const found = answer ?? defaultClass(priorities);
      if (priorities.has(found as string)) return underPriority(policy, found as string);
      throw new TypeError(`priority: ${unknownClass(found, name, priorities)}`);
    });
  }

  private async skips({ name, skipIf }: BoundPolicy<Context>, context: Context): Promise<boolean> {
    if (skipIf === undefined) return false;
    const warning = `skipIf of policy '${name}' failed, the request is counted`;
    const skips = await this.functions.call<unknown>(
      'skipIf',
      warning,
      () => skipIf(this.requestOf(context), context),
      () => false,
      skipIf,
      context,
    );
    // A function such as `user?.isAdmin` returns undefined for a missing user.
    if (typeof skips === 'boolean' || skips === undefined || skips === null) return skips === true;
    this.functions.failed('skipIf', warning, new TypeError(`it must return true or false, got ${shown(skips)}`));
    return false;
  }
}

import type { ExecutionContext } from '@nestjs/common';
import { type Answer, shown } from 'floodgate/internal';
import {
  andThen,
  DEFAULT_COST,
  defaultClass,
  lowestClass,
  TimeZones,
  underPriority,
  unknownClass,
  type UserFunctions,
} from 'floodgate/internal-boot';
import { requestOf } from '../contexts/http-context.js';
import type { BoundPolicy } from '../types.js';
import type { Route } from './route-policies.js';

/** The functions of a request's policies: which policies there are, which of them it skips, what it costs, its time zone and its class. */
export class PolicyFunctions {
  /** @param timeZones finds the time zones of requests */
  constructor(
    private readonly functions: UserFunctions,
    readonly timeZones = new TimeZones<ExecutionContext>(functions, requestOf),
  ) {}

  /** The policies that a request is counted by. */
  async policiesOf(route: Route, context: ExecutionContext): Promise<readonly BoundPolicy[]> {
    const policies = await route.policies(context);
    const skipped = await Promise.all(policies.map((policy) => this.skips(policy, context)));
    return policies.filter((_, i) => !skipped[i]);
  }

  /** The cost of a request. If the cost function fails, it is that of a policy without a `cost`. */
  async costOf({ name, cost }: BoundPolicy, context: ExecutionContext): Promise<number> {
    if (typeof cost === 'number') return cost;
    return this.functions.call<number>(
      'cost',
      `cost of policy '${name}' failed, the request costs ${DEFAULT_COST}`,
      () => cost(requestOf(context), context),
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
  inClass(policy: BoundPolicy, context: ExecutionContext): Answer<BoundPolicy> {
    const { name, priorities, priorityOf } = policy;
    if (priorities === undefined || priorityOf === undefined) return policy;
    const lowest = lowestClass(priorities);
    const given = this.functions.call<unknown>(
      'priority',
      `priority of policy '${name}' failed, the request counts as ${shown(lowest)}`,
      () => priorityOf(requestOf(context), context),
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

  private async skips({ name, skipIf }: BoundPolicy, context: ExecutionContext): Promise<boolean> {
    if (skipIf === undefined) return false;
    const warning = `skipIf of policy '${name}' failed, the request is counted`;
    const skips = await this.functions.call<unknown>(
      'skipIf',
      warning,
      () => skipIf(requestOf(context), context),
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

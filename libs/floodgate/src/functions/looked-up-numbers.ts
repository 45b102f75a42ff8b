import { ALGORITHM_NAMES, algorithmEntry } from '../algorithms/algorithms.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { PolicyNumbers } from '../policy/policy.js';
import { variantOf } from '../policy/variants.js';
import { shown } from '../util/config-error.js';

/** The options that are numbers of an algorithm, such as `limit`. */
const NUMBERS: ReadonlySet<string> = new Set(ALGORITHM_NAMES.flatMap((name) => algorithmEntry(name)!.options));
/** The most policies whose numbers one answer has. */
const MAX_POLICIES = 100;

/** The numbers that the look-up of a plan has answered: for all policies with plans, or by the name of a policy. */
export class LookedUpNumbers {
  private readonly ofAll: PolicyNumbers | undefined;
  private readonly byPolicy: ReadonlyMap<string, PolicyNumbers> | undefined;
  /** The policies under the numbers, so that these are checked once. */
  private readonly variants = new WeakMap<BoundPolicy, BoundPolicy>();

  /** @throws {TypeError} for what has no numbers */
  constructor(given: object) {
    const entries = Object.entries(given).filter(([, value]) => value !== undefined);
    if (entries.length === 0 || entries.length > MAX_POLICIES || Array.isArray(given)) throw wrongPlan(given);
    if (entries.every(([name]) => NUMBERS.has(name))) {
      this.ofAll = Object.fromEntries(entries);
      return;
    }
    for (const [name, numbers] of entries) {
      if (typeof numbers === 'object' && numbers !== null && !Array.isArray(numbers)) continue;
      throw new TypeError(
        `the numbers of policy ${shown(name)} must be an object such as { limit: 500 }, got ${shown(numbers)}`,
      );
    }
    this.byPolicy = new Map(entries.map(([name, numbers]) => [name, { ...(numbers as PolicyNumbers) }]));
  }

  /**
   * The policy under its numbers. The policy itself, where there are none for it.
   *
   * @param wrong what stands in for numbers that the policy cannot have
   */
  under<Context>(policy: BoundPolicy<Context>, wrong: (error: unknown) => BoundPolicy<Context>): BoundPolicy<Context> {
    const known = this.variants.get(policy) as BoundPolicy<Context> | undefined;
    if (known !== undefined) return known;
    let variant: BoundPolicy<Context>;
    try {
      const numbers = this.ofAll ?? this.byPolicy?.get(policy.name);
      variant = numbers === undefined ? policy : variantOf(policy, numbers);
    } catch (error) {
      variant = wrong(error);
    }
    this.variants.set(policy, variant);
    return variant;
  }
}

/** The error for an answer that is no plan. */
export function wrongPlan(given: unknown): TypeError {
  return new TypeError(
    `it must return the name of a plan, numbers such as { limit: 500 } or { api: { limit: 500 } }, or nothing for no plan, got ${shown(given)}`,
  );
}

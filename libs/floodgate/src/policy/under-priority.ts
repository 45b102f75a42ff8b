import type { BoundPolicy } from './bound-policy.js';
import { headroomIn } from './priorities.js';

/** Variants by the policy and the class. */
const UNDER = new WeakMap<BoundPolicy, Map<string, BoundPolicy>>();

/**
 * A policy with priorities, for requests of one class: a variant that counts under the policy's own keys, and leaves the rest of
 * the limit free. Equal classes give the same object.
 *
 * @param priority a class of the policy
 */
export function underPriority<Context>(bound: BoundPolicy<Context>, priority: string): BoundPolicy<Context> {
  if (bound.priority === priority) return bound;
  let known = UNDER.get(bound);
  if (known === undefined) UNDER.set(bound, (known = new Map()));
  let variant = known.get(priority) as BoundPolicy<Context> | undefined;
  if (variant === undefined) {
    const { algorithm, priorities } = bound;
    variant = {
      ...bound,
      priority,
      priorityOf: undefined,
      headroom: headroomIn(algorithm, priorities!.get(priority)!),
    };
    known.set(priority, variant);
  }
  return variant;
}

import { CallQueueFullError } from '../charges/errors.js';
import type { PolicyCharge } from '../charges/policy-charge.js';

/**
 * How many calls may wait: so many for each policy, so that a backlog of one does not close the queue for another. A class of priority
 * fills its part of them, as it fills its part of the limit.
 */
export class QueueRoom {
  /** The calls by the names of their policies. */
  private readonly calls = new Map<string, number>();

  /** @param most for each policy */
  constructor(private readonly most: number) {}

  /** The error for a call that finds no room; undefined where it finds some. A policy in shadow lets no call wait. */
  lackFor(charges: readonly PolicyCharge[]): CallQueueFullError | undefined {
    for (const { policy, shadow } of charges) {
      const { name, priorities, priority } = policy;
      const part = priorities?.get(priority!) ?? 1;
      const room = Math.max(1, Math.floor(this.most * part));
      if (shadow || (this.calls.get(name) ?? 0) < room) continue;
      return new CallQueueFullError(name, room, part === 1 ? undefined : priority);
    }
    return undefined;
  }

  enter(charges: readonly PolicyCharge[]): void {
    for (const { policy, shadow } of charges) if (!shadow) this.add(policy.name, 1);
  }

  leave(charges: readonly PolicyCharge[]): void {
    for (const { policy, shadow } of charges) if (!shadow) this.add(policy.name, -1);
  }

  private add(name: string, change: number): void {
    const calls = (this.calls.get(name) ?? 0) + change;
    if (calls === 0) this.calls.delete(name);
    else this.calls.set(name, calls);
  }
}

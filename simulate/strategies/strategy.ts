import type { Decider } from '../pods/decider.js';
import type { Limit } from '../pods/engine.js';
import type { Pod } from '../pods/pod.js';
import type { World } from '../world.js';

/** A way to share a limit among pods. */
export interface Strategy {
  readonly name: string;
  /** How a table names it. */
  readonly title: string;
  /** How many regions it makes sense for. */
  readonly regions: readonly number[];
  /** Whether it never admits more than the limit. A simulation in which it does has found a bug. */
  readonly exact: boolean;
  /** What exists in the simulation only, and not in the library. */
  readonly simulatedOnly?: boolean;
  /** Sets the servers up. Returns what makes the decider of a pod, in the pod's process. */
  readonly build: (world: World, limit: Limit) => (pod: Pod) => Decider;
}

/** An equal or unequal part of a limit, in whole tokens. */
export function partOf(limit: Limit, part: number): Limit {
  return { ...limit, capacity: Math.max(1, Math.floor(limit.capacity * part)), refill: limit.refill * part };
}

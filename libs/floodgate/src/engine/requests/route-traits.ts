import { type BoundPolicy, canDelay, isSettled } from '../../policy/bound-policy.js';

/** What requests of a route need besides a decision. Plans and overrides change a policy's numbers alone, so none of this. */
export interface RouteTraits {
  /** Whether a request may wait for a departure slot. */
  readonly queues: boolean;
  /** Whether charges are settled when a request has ended. */
  readonly settles: boolean;
  /** Whether a request holds leases until it has ended. */
  readonly holdsLeases: boolean;
}

type Policy = Pick<BoundPolicy, 'algorithm' | 'shadow' | 'countIf' | 'settle'>;

/** The traits of a route whose policies are all known at boot. A `skipIf` may leave some of them out. */
export function routeTraitsOf(policies: readonly Policy[]): RouteTraits {
  return {
    queues: policies.some(canDelay),
    settles: policies.some(isSettled),
    holdsLeases: policies.some(({ algorithm }) => algorithm.lease !== undefined),
  };
}

/** The traits of a route for which functions choose policies: they may choose any. */
export const CHOSEN_TRAITS: RouteTraits = { queues: true, settles: true, holdsLeases: true };

import type { Charge, Verdict } from '../stores/store.js';
import type { Answer } from '../util/answer.js';
import type { Execution } from './execution.js';
import type { PolicyCharge } from './policy-charge.js';
import type { LayerVerdict } from './layer-verdict.js';

/** Decides requests: a store, or a layer in front of one. */
export interface Decider {
  /**
   * Decides one request: makes every charge, or none.
   *
   * @param execution the execution that the request is a part of, such as a GraphQL operation: its parts share one deadline
   * @throws the store's failure
   */
  decide(charges: readonly PolicyCharge[], execution?: Execution): Answer<LayerVerdict>;
}

/** A layer that stands in front of the store, and in front of what decides without it. */
export interface Front {
  over(store: Decider): Decider;
  overLocal(fallback: Decider): Decider;
}

/** Asks the store. */
export interface StoreDecider {
  /** Every request gets a verdict, or fails within the deadline. What it would hold after that is given back. */
  decide(charges: readonly Charge[], execution?: Execution): Answer<Verdict>;
  /** Decides what no request waits for, such as the renewal of a lease: the answer counts however late it comes. */
  decidePatiently(charges: readonly Charge[]): Answer<Verdict>;
}

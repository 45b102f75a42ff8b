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

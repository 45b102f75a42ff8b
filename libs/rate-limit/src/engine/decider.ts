import type { Answer } from '../util/answer.js';
import type { Execution } from './execution.js';
import type { PolicyCharge } from './policy-charge.js';
import type { LayerVerdict } from './layer-verdict.js';

/** Decides requests: a store, or a layer in front of one. */
export interface Decider {
  /**
   * Decides one request: makes every charge, or none.
   *
   * @param execution what the request is a part of, where it has several steps: they have one deadline together
   * @throws what the store fails with
   */
  decide(charges: readonly PolicyCharge[], execution?: Execution): Answer<LayerVerdict>;
}

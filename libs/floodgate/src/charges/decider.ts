import type { Charge, RateLimitStoreError, Verdict } from '../stores/store.js';
import type { Answer } from '../util/answer.js';
import type { Execution } from './execution.js';
import type { PolicyCharge } from './policy-charge.js';
import type { LayerVerdict } from './layer-verdict.js';

/** A request, as deciders see it. */
export interface LimitedRequest<C extends Charge = PolicyCharge> {
  readonly charges: readonly C[];
  /** The execution that it is a part of, such as a GraphQL operation: its parts share one deadline. */
  readonly execution?: Execution | undefined;
  /** Why the store could not decide, where the process decides in its place. */
  readonly cause?: RateLimitStoreError | undefined;
}

/** A copy of the request with other charges. */
export function asking({ execution, cause }: LimitedRequest, charges: readonly PolicyCharge[]): LimitedRequest {
  return { charges, execution, cause };
}

/** Decides requests: a store, or a layer in front of one. */
export interface Decider {
  /**
   * Decides one request: makes every charge, or none.
   *
   * @throws the store's failure
   */
  decide(request: LimitedRequest): Answer<LayerVerdict>;
}

/** A layer that stands in front of the store, and in front of what decides without it. */
export interface Front {
  over(store: Decider): Decider;
  overLocal(fallback: Decider): Decider;
}

/** Asks the store. */
export interface StoreDecider {
  /** Every request gets a verdict, or fails within the deadline. A grant that comes later is refunded. */
  decide(request: LimitedRequest<Charge>): Answer<Verdict>;
  /** Decides what no request waits for, such as the renewal of a lease: the answer counts however late it comes. */
  decidePatiently(charges: readonly Charge[]): Answer<Verdict>;
}

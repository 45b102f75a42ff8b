import type { Charge } from '../../charge.js';
import type { RateLimitStoreError } from '../../store.js';
import type { StoreUnavailableError } from '../../unavailable.js';
import type { Lane } from './lane.js';

/** Whether the servers behind a client can be asked. Learns from the answer of every batch. */
export interface Availability {
  /** The failure of a request that must not be sent; undefined when it may be. */
  check(charges: readonly Charge[]): StoreUnavailableError | undefined;
  /** The failure of a request that must not be sent in a lane; undefined when it may be. */
  checkLane(lane: Lane): StoreUnavailableError | undefined;
  /** Redis answered a batch of this lane. */
  answered(lane: Lane): void;
  /** Redis did not answer a batch of this lane, or not in time. Returns the failure of its requests. */
  failed(error: Error, lane: Lane): RateLimitStoreError;
}

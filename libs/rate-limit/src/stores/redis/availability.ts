import type { Charge } from '../charge.js';
import type { RateLimitStoreError } from '../store.js';
import { decisionFailure, type RedisUnavailableError } from './redis-failure.js';

/** Whether the servers behind a client can be asked. Learns from the answer of every batch. */
export interface Availability {
  /** The failure of a request that must not be sent; undefined when it may be. */
  check(charges: readonly Charge[]): RedisUnavailableError | undefined;
  /** The failure of a request that must not be sent in a lane of `Routing`; undefined when it may be. */
  checkLane(lane: number): RedisUnavailableError | undefined;
  /** Redis answered a batch of this lane. */
  answered(lane: number): void;
  /** Redis did not answer a batch of this lane, or not in time. Returns the failure of its requests. */
  failed(error: Error, lane: number): RateLimitStoreError;
}

/** For a client that is used as it is: each request is sent, and the client decides how long it waits. */
export const ALWAYS_AVAILABLE: Availability = {
  check: () => undefined,
  checkLane: () => undefined,
  answered: () => undefined,
  failed: decisionFailure,
};

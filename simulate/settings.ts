import type { Delay } from './network/link.js';
import type { ClientCosts } from './redis/connection.js';
import type { ServiceCosts } from './redis/server.js';

/** The numbers that a simulation starts from. The README says where each comes from. */
export interface Costs {
  readonly server: ServiceCosts;
  readonly client: ClientCosts;
  /** CPU time of the application for a request, in microseconds. */
  readonly request: number;
}

/** Between two machines of a region, and between two regions. */
export interface Network {
  readonly near: Delay;
  readonly far: Delay;
}

export interface Settings {
  readonly pods: number;
  readonly regions: number;
  /** The part of the requests that arrive in the first region, which is the home region. */
  readonly homeShare: number;
  readonly seed: number;
  /** Milliseconds that a decision may take in Redis: the module's `deadline`. */
  readonly deadlineMs: number;
  /** What a pod does while Redis is away; default `'local'`: it uses its part of the limit. */
  readonly onStoreFailure?: 'local' | 'closed';
  /** The largest part by which the monotonic clock of a pod is fast or slow; default 0, where all of them agree. */
  readonly drift?: number;
  /** Milliseconds between two exchanges of counts. */
  readonly exchangeMs: number;
  readonly costs: Costs;
  readonly network: Network;
}

/** A call of one row takes Redis 15 us, a row of a batch of 32 takes 5.5 us. */
export const COSTS: Costs = {
  server: { call: 9.8, row: 5.2 },
  client: { call: 27.6, row: 4.8 },
  request: 100,
};

export const NETWORK: Network = {
  near: { microseconds: 150, jitter: 50 },
  far: { microseconds: 40_000, jitter: 500 },
};

import type { Pending, PendingRequest } from './pending-request.js';

/**
 * Identical requests, which are decided together, one after the other; or a settlement. A class for the reason that `StoreRequest`
 * gives.
 */
export class Row {
  last: Pending;
  /** How many requests it has; 0 for a settlement. */
  count: number;

  constructor(readonly first: Pending) {
    this.last = first;
    this.count = first.settlements === undefined ? 1 : 0;
  }

  /** Adds a request that is identical with those of the row. */
  repeat(pending: PendingRequest): void {
    (this.last as PendingRequest).next = pending;
    this.last = pending;
    this.count++;
  }
}

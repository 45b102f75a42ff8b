import type { PendingRequest } from './pending-request.js';

/** Identical requests, which are decided together, one after the other. A class for the reason that `StoreRequest` gives. */
export class Row {
  last: PendingRequest;
  count = 1;

  constructor(readonly first: PendingRequest) {
    this.last = first;
  }
}

import type { PendingDeadline } from '../../deadlines.js';
import type { Charge } from '../../charge.js';
import type { Batch } from './batch.js';

/** Requests of one lane may share a batch. */
export interface Lane {
  /** The node of the Cluster behind it, as the client knows it now; undefined for one server, and where no node is known. */
  readonly node: string | undefined;
  /** Runs the program for a batch, and returns its checked reply. */
  decide(batch: Batch, deadline: PendingDeadline | undefined): Promise<readonly number[]>;
}

/** Decides which requests may share a batch: those of one lane. */
export interface Routing {
  /** The approximate number of lanes among which requests scatter. */
  readonly laneCount: number;
  /** The lane of a request whose keys can be decided together. */
  laneOf(charges: readonly Charge[]): Lane;
}

import type { Charge } from '../../charge.js';
import type { Batch } from './batch.js';

/** A batch under way, as its lane sees it: only the batcher knows its deadline. */
export interface BatchCall {
  /** Whether the deadline has passed, which has failed the requests. */
  readonly isLate: boolean;
  /**
   * Whether it may be sent, or sent again: a charge would be wasted after the requests were answered. If a stall of the event
   * loop used up the deadline, Redis gets a whole new one.
   */
  maySend(): boolean;
}

/** Requests of one lane may share a batch. */
export interface Lane {
  /** The node of the Cluster behind it, as the client knows it now; undefined for one server, and where no node is known. */
  readonly node: string | undefined;
  /** Runs the program for a batch, and returns its checked reply. */
  decide(batch: Batch, call: BatchCall): Promise<readonly number[]>;
}

/** Decides which requests may share a batch: those of one lane. */
export interface Routing {
  /** The lane of a request whose keys can be decided together. */
  laneOf(charges: readonly Charge[]): Lane;
}

import type { Availability } from '../batch/availability.js';
import type { Probe } from './probe.js';

/** The nodes of a Cluster, each with a health of its own. */
export interface Nodes extends Availability {
  /** Asks every node that has slots for a decision. Rejects where one of them cannot decide. */
  askAll(probe: Probe): Promise<void>;
  close(): void;
}

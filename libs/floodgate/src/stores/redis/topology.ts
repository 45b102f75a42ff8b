import type { Charge } from '../charge.js';
import type { Verdict } from '../store.js';
import type { BatcherSettings } from './batch/batcher.js';
import type { Lane, Routing } from './batch/lane.js';
import type { PendingSettlement } from './batch/pending-request.js';
import type { HealthListeners } from './connection/health.js';
import type { Nodes } from './connection/nodes.js';
import type { Probe } from './connection/probe.js';

/** Takes the requests and settlements of a store, and answers them. */
export interface StoreQueue {
  /**
   * Throws at once, without sending anything, while a server that the request needs is unavailable.
   *
   * @param isPatient whether its answer counts however late it comes; default false
   */
  decide(charges: readonly Charge[], isPatient?: boolean): Promise<Verdict>;
  /** Settles in the order of the decisions. Never throws. @param isSure whether it is sent whatever the breaker says; default false */
  settle(settlement: PendingSettlement, isSure?: boolean): void;
  /** Sends what this turn has brought so far. */
  flush(): void;
  /** Resolves once nothing waits for an answer, and no answer has led to another question. */
  idle(): Promise<void>;
}

/** What does not depend on the servers behind the client. */
export type QueueSettings = Omit<BatcherSettings, 'routing' | 'cork' | 'undecided'>;

/** The servers behind a client: one, or the nodes of a Cluster. */
export interface Topology extends Routing {
  /** The lane of a single key: of a settlement, a refund or a reset. */
  laneOfKey(key: string): Lane;
  /** The lane of a charge; undefined while the store may choose another one. */
  laneOfCharge(charge: Charge): Lane | undefined;
  /** Whether one program decides a request of these charges: it needs all their keys. */
  decidesAlternatives(charges: readonly Charge[]): boolean;
  /** Watches each node by itself, on a client that belongs to the store; undefined for one server. */
  watch(probe: Probe, deadlineMs: number, listeners: HealthListeners): Nodes | undefined;
  queue(settings: QueueSettings): StoreQueue;
}

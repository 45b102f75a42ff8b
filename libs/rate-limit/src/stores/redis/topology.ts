import type { Charge } from '../charge.js';
import type { Deadlines } from '../deadlines.js';
import type { Denials, StoreObserver } from '../denials.js';
import type { ChargeReceipt, Verdict } from '../store.js';
import type { Availability } from './batch/availability.js';
import type { BatcherSettings } from './batch/batcher.js';
import type { Lane, Routing } from './batch/lane.js';
import type { PendingSettlement } from './batch/pending-request.js';
import type { Linger } from './batch/linger.js';
import type { HealthListeners } from './connection/health.js';
import type { Nodes } from './connection/nodes.js';
import type { Probe } from './connection/probe.js';

/** What decides the requests of a store. */
export interface Decider {
  /** Throws at once, without sending anything, while a server that the request needs is unavailable. */
  decide(charges: readonly Charge[]): Promise<Verdict>;
  /** Settles in the order of the decisions. Never throws. */
  settle(settlement: PendingSettlement): void;
  /** Sends what this turn has brought so far. */
  flush(): void;
}

export interface DeciderSettings {
  readonly availability: Availability;
  /** Runs the program for a batch of a lane. Undefined: as the lane does. */
  readonly decide: BatcherSettings['decide'];
  readonly deadlines: Deadlines | undefined;
  readonly denials: Denials | undefined;
  readonly observer: StoreObserver | undefined;
  readonly linger: Linger | undefined;
  /** Sends refunds; a lost refund stays charged. */
  readonly refund: (receipts: readonly ChargeReceipt[]) => void;
}

/** The servers behind a client: one, or the nodes of a Cluster. */
export interface Topology extends Routing {
  /** The lane of a single key: of a settlement, a refund or a reset. */
  laneOfKey(key: string): Lane;
  /** The lane of a charge; undefined while the store may choose another one. */
  laneOfCharge(charge: Charge): Lane | undefined;
  /** Watches each node by itself, on a client that belongs to the store; undefined for one server. */
  watch(probe: Probe, deadlineMs: number, listeners: HealthListeners): Nodes | undefined;
  decider(settings: DeciderSettings): Decider;
}

import { type Charge, isSharded } from '../../charge.js';
import type { Logger } from '../../../util/logger.js';
import { Batcher } from '../batch/batcher.js';
import type { Script, ScriptSettings } from '../batch/script.js';
import type { ClusterMap, OwnedClient, StoreClient } from '../clients/client.js';
import type { HealthListeners } from '../connection/health.js';
import type { Nodes } from '../connection/nodes.js';
import type { Probe } from '../connection/probe.js';
import type { QueueSettings, StoreQueue, Topology } from '../topology.js';
import { ClusterNodes } from './cluster-nodes.js';
import { CrossSlot } from './cross-slot.js';
import { NodeLanes } from './node-lanes.js';
import { NodeScript } from './node-script.js';
import { ClusterRouting } from './routing.js';
import { ShardSpread } from './shard-spread.js';
import { SlotRequests } from './slot-requests.js';

/** A client that belongs to the store. */
export interface OwnedCluster {
  readonly client: OwnedClient;
  readonly probeKey: (number: number) => string;
  readonly logger: Logger;
}

/** The nodes of a Cluster: requests are sent by node if the servers allow it, and otherwise by slot. */
export class Cluster extends ClusterRouting implements Topology {
  declare readonly lanes: NodeLanes;
  private readonly owned: OwnedCluster | undefined;

  constructor(
    { keyPrefix }: StoreClient,
    private readonly map: ClusterMap,
    script: Script,
    settings: ScriptSettings,
    owned?: OwnedCluster,
  ) {
    const lanes = new NodeLanes(map, {
      script: new NodeScript(keyPrefix, settings),
      keyPrefix,
      probeKey: owned?.probeKey,
      logger: owned?.logger,
    });
    super(map, keyPrefix, script, lanes);
    this.owned = owned;
    owned?.client.onState((state) => {
      if (state === 'ready') lanes.probeAll();
    });
  }

  decidesAlternatives(charges: readonly Charge[]): boolean {
    return !charges.some(isSharded) && !this.hasSeveralSlots(charges);
  }

  watch(probe: Probe, deadlineMs: number, listeners: HealthListeners): Nodes | undefined {
    return this.owned && new ClusterNodes(this.map, this, probe, deadlineMs, listeners);
  }

  queue(settings: QueueSettings): StoreQueue {
    const { availability } = settings;
    const { owned } = this;
    const cork = (): (() => void) => this.lanes.cork();
    const batcher: Batcher = new Batcher({
      ...settings,
      routing: this,
      cork,
      undecided: { ask: (requests, call) => slotRequests.ask(requests, call) },
    });
    const crossSlot: CrossSlot = new CrossSlot({
      ...settings,
      routing: this,
      refund: (receipts) => settings.refund(receipts, true),
      add: (pending) => batcher.add(pending),
      turn: () => batcher.turn,
      spread: owned && new ShardSpread(this.map, this, owned.logger),
    });
    const slotRequests: SlotRequests = new SlotRequests({
      routing: this,
      crossSlot,
      send: (lane, batch, call) => batcher.sendFor(call, lane, batch),
      cork,
    });
    return {
      decide: (charges, isPatient) => {
        const unavailable =
          availability.check(charges) &&
          // If only the node of a shadow is unavailable, the others still decide.
          availability.check(charges.filter(({ shadow }: Charge) => shadow !== true));
        if (unavailable !== undefined) throw unavailable;
        return this.isCrossSlot(charges) ? crossSlot.decide(charges) : batcher.request(charges, isPatient);
      },
      settle: (settlement, isSure) => batcher.settle(settlement, isSure),
      flush: batcher.flush,
      idle: () => batcher.idle(),
    };
  }
}

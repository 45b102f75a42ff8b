import { type Charge, isSharded } from '../../charge.js';
import { slotOf } from '../../slots.js';
import type { Lane, Routing } from '../batch/lane.js';
import type { Script } from '../batch/script.js';
import type { ClusterMap } from '../clients/client.js';
import type { NodeLane, NodeLanes } from './node-lanes.js';

/** The requests of one slot, which Redis decides in one call wherever the slot is. */
class SlotLane implements Lane {
  constructor(
    private readonly slot: number,
    private readonly cluster: Pick<ClusterMap, 'masterOf'>,
    private readonly script: Script,
  ) {}

  /** The slot's master, as the client knows it. */
  get node(): string | undefined {
    return this.cluster.masterOf(this.slot);
  }

  decide(...batch: Parameters<Script['decide']>): Promise<readonly number[]> {
    return this.script.decide(...batch);
  }
}

/** A Cluster: one lane for each node that takes keys of several slots in one call, and one for each slot of the others. */
export class ClusterRouting implements Routing {
  private readonly bySlot = new Map<number, SlotLane>();

  /**
   * @param keyPrefix what the client puts before every key: slots depend on it
   * @param lanes undefined: each slot is a lane
   */
  constructor(
    private readonly cluster: Pick<ClusterMap, 'masterOf'>,
    private readonly keyPrefix: string,
    private readonly script: Script,
    readonly lanes?: NodeLanes,
  ) {}

  /** The slot of a key: 0 to 16,383. */
  slotOf(key: string): number {
    return slotOf(`${this.keyPrefix}${key}`);
  }

  laneOf(charges: readonly Charge[]): Lane {
    const { key } = charges[0]!;
    const slot = this.slotOf(key);
    return this.lanes?.laneOf(slot, key) ?? this.laneOfSlot(slot);
  }

  /** The lane of the key's slot. */
  laneOfKey(key: string): Lane {
    return this.laneOfSlot(this.slotOf(key));
  }

  /** The lane of the charge's slot; undefined for a sharded charge, of which another shard may be on another node. */
  laneOfCharge(charge: Charge): Lane | undefined {
    return isSharded(charge) ? undefined : this.laneOfKey(charge.key);
  }

  /** Whether the keys lie in several slots, of one node or of several. */
  hasSeveralSlots(charges: readonly Charge[]): boolean {
    const slot = this.slotOf(charges[0]!.key);
    return charges.some(({ key }) => this.slotOf(key) !== slot);
  }

  /** Whether no batch can decide the request: its keys lie in slots of several nodes, or are still to be chosen. */
  isCrossSlot(charges: readonly Charge[]): boolean {
    if (isSharded(charges[0]!)) return true;
    if (charges.length === 1) return false;
    const slot = this.slotOf(charges[0]!.key);
    let lane: NodeLane | undefined;
    for (let i = 1; i < charges.length; i++) {
      const { key } = charges[i]!;
      if (isSharded(charges[i]!)) return true;
      const other = this.slotOf(key);
      if (other === slot) continue;
      // One node decides keys in several of its slots in one step.
      lane ??= this.lanes?.laneOf(slot, charges[0]!.key);
      if (lane === undefined || this.lanes?.laneOf(other, key) !== lane) return true;
    }
    return false;
  }

  private laneOfSlot(slot: number): SlotLane {
    let lane = this.bySlot.get(slot);
    if (lane === undefined) this.bySlot.set(slot, (lane = new SlotLane(slot, this.cluster, this.script)));
    return lane;
  }
}

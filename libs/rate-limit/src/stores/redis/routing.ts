import type { Charge } from '../charge.js';
import type { NodeLanes } from './node-lanes.js';
import { SLOTS, slotOf } from './slots.js';

/** Decides which requests may share a batch: those of one lane. */
export interface Routing {
  /** The lanes among which requests scatter, about. Default 1. */
  readonly laneCount?: number;
  /** The lane of a request whose keys can be decided together. */
  laneOf(charges: readonly Charge[]): number;
  /** Whether no batch can decide the request: its keys lie in several slots of different nodes, or are still to be chosen. */
  isCrossSlot(charges: readonly Charge[]): boolean;
}

/** One server, or a client that looks like one: all requests share a lane. */
export const ONE_LANE: Routing = { laneOf: () => 0, isCrossSlot: () => false };

/** A Cluster: one lane for each node that takes keys of several slots in one call, and one for each slot of the others. */
export class ClusterRouting implements Routing {
  /**
   * @param keyPrefix what the client puts before every key: slots depend on it
   * @param lanes undefined: each slot is a lane
   */
  constructor(
    private readonly keyPrefix: string,
    private readonly lanes?: NodeLanes,
  ) {}

  /** Where the nodes take no batches, each slot has its own. */
  get laneCount(): number {
    return this.lanes?.count ?? SLOTS;
  }

  /** The slot of a key: 0 to 16,383. */
  slotOf(key: string): number {
    return slotOf(`${this.keyPrefix}${key}`);
  }

  laneOf(charges: readonly Charge[]): number {
    const { key } = charges[0]!;
    const slot = this.slotOf(key);
    return this.lanes === undefined ? slot : this.lanes.laneOf(slot, key);
  }

  /** Whether the keys lie in several slots, of one node or of several. */
  hasSeveralSlots(charges: readonly Charge[]): boolean {
    const slot = this.slotOf(charges[0]!.key);
    return charges.some(({ key }) => this.slotOf(key) !== slot);
  }

  /** The node of a node's lane; undefined for the lane of a slot. */
  nodeOf(lane: number): string | undefined {
    return this.lanes?.nodeOf(lane);
  }

  isCrossSlot(charges: readonly Charge[]): boolean {
    if (isSharded(charges[0]!)) return true;
    if (charges.length === 1) return false;
    const slot = this.slotOf(charges[0]!.key);
    let lane = slot;
    for (let i = 1; i < charges.length; i++) {
      const { key } = charges[i]!;
      if (isSharded(charges[i]!)) return true;
      const other = this.slotOf(key);
      if (other === slot) continue;
      if (this.lanes === undefined) return true;
      // One node decides keys in several of its slots in one step.
      if (lane === slot) lane = this.lanes.laneOf(slot, charges[0]!.key);
      if (lane === slot || this.lanes.laneOf(other, key) !== lane) return true;
    }
    return false;
  }
}

/** Whether a charge's state is split among several keys. */
export function isSharded({ shardKeys }: Charge): boolean {
  return shardKeys !== undefined;
}

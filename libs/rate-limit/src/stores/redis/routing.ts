// oxlint-disable-next-line typescript/triple-slash-reference -- an application that builds the library from its sources has to find it
/// <reference path="./cluster-key-slot.d.ts" />
import calculateSlot from 'cluster-key-slot';
import type { Charge } from '../charge.js';

const SLOTS = 16_384;

/** Decides which requests may share a batch: those of one lane. */
export interface Routing {
  /** The lanes among which requests scatter, about. Default 1. */
  readonly laneCount?: number;
  /** The lane of a request whose keys can be decided together. */
  laneOf(charges: readonly Charge[]): number;
  /** Whether no batch can decide the request: its keys lie in several slots, or are still to be chosen. */
  isCrossSlot(charges: readonly Charge[]): boolean;
}

/** One server, or a client that looks like one: all requests share a lane. */
export const ONE_LANE: Routing = { laneOf: () => 0, isCrossSlot: () => false };

/** A Cluster: one lane for each slot, since the keys of one call have to share a slot. */
export class ClusterRouting implements Routing {
  readonly laneCount = SLOTS;

  /** @param keyPrefix what the client puts before every key: slots depend on it */
  constructor(private readonly keyPrefix: string) {}

  /** The slot of a key: 0 to 16,383. */
  slotOf(key: string): number {
    return calculateSlot(`${this.keyPrefix}${key}`);
  }

  laneOf(charges: readonly Charge[]): number {
    return this.slotOf(charges[0]!.key);
  }

  isCrossSlot(charges: readonly Charge[]): boolean {
    if (isSharded(charges[0]!)) return true;
    if (charges.length === 1) return false;
    const slot = this.slotOf(charges[0]!.key);
    for (let i = 1; i < charges.length; i++) {
      if (isSharded(charges[i]!) || this.slotOf(charges[i]!.key) !== slot) return true;
    }
    return false;
  }
}

/** Whether a charge's state is split among several keys. */
export function isSharded({ shardKeys }: Charge): boolean {
  return shardKeys !== undefined;
}

import type { Algorithm } from '../../algorithms/core/algorithm.js';
import { sizeOf } from '../../algorithms/core/footprint.js';
import type { BlockLevel } from '../../algorithms/block/block.js';
import type { BlockCharge, Charge, StateEntry } from '../charge.js';
import type { Found, FoundBlock } from '../judge.js';

const UNREAD: BlockLevel = { left: 0, count: 0 };

/** What a store needs to know of a kept state. */
export type KeptAlgorithm = Pick<Algorithm, 'limit' | 'remaining' | 'read' | 'footprint'>;

/** The state of a key, or the state that keys without room share. */
export interface Entry extends StateEntry {
  /** Empty for a shared state. */
  readonly key: string;
  algorithm: KeptAlgorithm;
  /** Undefined for a shared state that nothing was taken from. */
  state: unknown;
  expiresAt: number;
  /** The mark of `Activity`. */
  seen: number;
  /** The entries that it belongs to; undefined once it is forgotten, and for a shared state. */
  home: object | undefined;
}

/** A charge of a request, with the entry of its key if there is one. A class: V8 then keeps one shape for all of them. */
export class Held implements Found {
  level: unknown = undefined;
  refundMarker: readonly number[] | undefined = undefined;

  constructor(
    readonly charge: Charge,
    public entry: Entry | undefined,
    readonly block: HeldBlock | undefined,
  ) {}
}

/** The block of a charge, with the entry of its key if there is one. */
export class HeldBlock implements FoundBlock {
  level = UNREAD;
  /** The level before the decision. */
  before = UNREAD;

  constructor(
    readonly charge: BlockCharge,
    readonly entry: Entry | undefined,
  ) {}
}

/** Bytes of an entry beside its state and the characters of its key: its objects, and its part of a sparsely filled table. */
const ENTRY_BYTES = 200;

/** Bytes of an entry with its key, estimated. */
export function bytesOf(key: string, algorithm: KeptAlgorithm, state: unknown): number {
  return ENTRY_BYTES + key.length + sizeOf(algorithm, state);
}

export function isHeld(entry: Entry, held: readonly Held[]): boolean {
  for (let i = 0; i < held.length; i++) {
    const one = held[i]!;
    if (one.entry === entry || (one.block !== undefined && one.block.entry === entry)) return true;
  }
  return false;
}

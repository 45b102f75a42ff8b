import { isWhole } from '../core/algorithm.js';
import type { Footprint } from '../core/footprint.js';
import type { WireFormat } from '../core/wire-format.js';

/** What a store keeps of an identity's rejections by one policy. */
export interface Block {
  /** The instant at which the rejections are forgotten, and a block ends. */
  ends: number;
  /** Rejections so far; from `after` on the identity is blocked. */
  count: number;
}

/** A block seen from one instant. */
export interface BlockLevel {
  /** Microseconds until it ends; 0 when nothing is counted. */
  readonly left: number;
  readonly count: number;
  /** Which of its durations the block lasts, from 1; absent where there is one duration only. */
  readonly step?: number;
}

/** What a store needs of a block, whether it escalates or not. */
export interface AnyBlockAlgorithm {
  readonly name: string;
  /** Names the kind of block in keys. It must never change. */
  readonly code: string;
  readonly maxCost: number;
  /** Identifies the numbers in keys. */
  readonly rate: string;
  readonly after: number;
  /** Microseconds that a block lasts: the first one, the second one, and so on. */
  readonly durations: readonly number[];
  readonly limit: number;
  readonly wire: WireFormat<BlockLevel>;
  readonly footprint?: Footprint<Block>;
  isAhead(state: Block, now: number, maxSkew: number): boolean;
  read(state: Block | undefined, now: number, maxSkew: number): BlockLevel;
  fits(level: BlockLevel): boolean;
  charge(level: BlockLevel): BlockLevel;
  write(level: BlockLevel, now: number, state?: Block): Block;
  expiresAt(level: BlockLevel, now: number): number;
  remaining(level: BlockLevel): number;
}

const OPEN: BlockLevel = { left: 0, count: 0 };

/**
 * Counts the rejections of a policy, and blocks an identity after `after` of them: the twin of `lua/block.lua`.
 *
 * Rejections count together for `duration` from the first one on. The last of `after` rejections begins a block of `duration`,
 * which later requests do not extend.
 */
export class BlockAlgorithm implements AnyBlockAlgorithm {
  readonly name = 'block';
  readonly code = 'bl';
  readonly maxCost = 1;
  /** Identifies the numbers in keys. */
  readonly rate: string;
  readonly wire: WireFormat<BlockLevel>;
  readonly footprint?: Footprint<Block>;
  readonly durations: readonly number[];

  /**
   * @param after rejections until the block: at least 1
   * @param duration microseconds
   */
  constructor(
    readonly after: number,
    readonly duration: number,
  ) {
    this.rate = `${after}@${duration}`;
    this.durations = [duration];
    this.wire = {
      program: 'block',
      numbers: [after, duration],
      replyLength: 2,
      isLevel: (reply, offset, maxSkew) =>
        isWhole(reply[offset], 0, duration + maxSkew) && isWhole(reply[offset + 1], 0, after),
      decode: (reply, offset) => ({ left: reply[offset]!, count: reply[offset + 1]! }),
    };
  }

  /** The limit that a full memory store compares with: a blocked identity has used all of it. */
  get limit(): number {
    return this.after;
  }

  isAhead(state: Block, now: number, maxSkew: number): boolean {
    return state.ends > now + this.duration + maxSkew;
  }

  read(state: Block | undefined, now: number, maxSkew: number): BlockLevel {
    if (state === undefined || state.ends <= now) return OPEN;
    const left = this.isAhead(state, now, maxSkew) ? this.duration : state.ends - now;
    return { left, count: state.count };
  }

  /** Whether the identity is not blocked. */
  fits({ count }: BlockLevel): boolean {
    return count < this.after;
  }

  /** The level after one more rejection. */
  charge({ left, count }: BlockLevel): BlockLevel {
    const next = count + 1;
    return { left: next === 1 || next === this.after ? this.duration : left, count: next };
  }

  write({ left, count }: BlockLevel, now: number, state: Block = { ends: 0, count: 0 }): Block {
    state.ends = now + left;
    state.count = count;
    return state;
  }

  expiresAt({ left }: BlockLevel, now: number): number {
    return now + left;
  }

  remaining({ count }: BlockLevel): number {
    return this.after - count;
  }
}

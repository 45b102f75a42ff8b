import { isWhole } from '../core/algorithm.js';
import type { AnyBlockAlgorithm, Block, BlockLevel } from './block.js';
import type { Footprint } from '../core/footprint.js';
import type { WireFormat } from '../core/wire-format.js';

/** What a store keeps of an identity's rejections by one policy, and of its latest block. */
export interface EscalatingBlock extends Block {
  /** The instant at which the step is forgotten. */
  forgottenAt: number;
  /** Which duration the latest block had, from 1; 0 without one. */
  step: number;
}

/** An escalating block seen from one instant. */
export interface EscalatingBlockLevel extends BlockLevel {
  /** Which duration the latest block had, from 1; 0 when none is remembered. */
  readonly step: number;
  /** Microseconds until the step is forgotten; 0 when none is remembered. */
  readonly memory: number;
}

const OPEN: EscalatingBlockLevel = { left: 0, count: 0, step: 0, memory: 0 };
/** The characters of a digest in keys: 64 bits to the base of 36. */
const DIGEST_LENGTH = 13;
/** The state has two numbers more than that of a block. */
const FOOTPRINT: Footprint<Block> = { bytesPerCost: 0, sizeOf: () => 96 };

/**
 * Counts the rejections of a policy, and blocks an identity after `after` of them, longer each time it comes back: the twin of
 * `lua/escalating-block.lua`.
 *
 * Rejections count together for the first duration from the first one on. The first block lasts the first duration, the next one
 * the second, and so on; the last duration repeats. The step is forgotten when the longest duration has passed since the latest
 * block ended.
 */
export class EscalatingBlockAlgorithm implements AnyBlockAlgorithm {
  readonly name = 'escalating-block';
  readonly code = 'be';
  readonly maxCost = 1;
  readonly footprint = FOOTPRINT;
  /** Identifies the numbers in keys. A digest, because 16 durations do not fit. */
  readonly rate: string;
  readonly wire: WireFormat<EscalatingBlockLevel>;
  private readonly longest: number;

  /**
   * @param after rejections until a block: at least 1
   * @param durations microseconds: 2 to 99, increasing
   */
  constructor(
    readonly after: number,
    readonly durations: readonly number[],
  ) {
    const longest = durations.at(-1)!;
    this.longest = longest;
    this.rate = `${after}@${digestOf(durations.join())}`;
    this.wire = {
      program: 'escalating-block',
      numbers: [after, ...durations],
      replyLength: 4,
      isLevel: (reply, offset, maxSkew) =>
        isWhole(reply[offset], 0, longest + maxSkew) &&
        isWhole(reply[offset + 1], 0, after) &&
        isWhole(reply[offset + 2], 0, 2 * longest + maxSkew) &&
        isWhole(reply[offset + 3], 0, durations.length),
      decode: (reply, offset) => ({
        left: reply[offset]!,
        count: reply[offset + 1]!,
        step: reply[offset + 3]!,
        memory: reply[offset + 2]!,
      }),
    };
  }

  /** The limit that a full memory store compares with: an identity whose step is remembered has used all of it. */
  get limit(): number {
    return this.after;
  }

  isAhead(state: EscalatingBlock, now: number, maxSkew: number): boolean {
    const { ends, forgottenAt } = state;
    return ends > now + this.longestLeft(state) + maxSkew || forgottenAt > now + this.longestMemory(state) + maxSkew;
  }

  read(state: EscalatingBlock | undefined, now: number, maxSkew: number): EscalatingBlockLevel {
    if (state === undefined) return OPEN;
    const { ends, count, step, forgottenAt } = state;
    if (ends <= now && forgottenAt <= now) return OPEN;
    const counts = ends > now;
    const isRemembered = forgottenAt > now;
    return {
      left: counts ? rebased(ends - now, this.longestLeft(state), maxSkew) : 0,
      count: counts ? count : 0,
      step: isRemembered ? step : 0,
      memory: isRemembered ? rebased(forgottenAt - now, this.longestMemory(state), maxSkew) : 0,
    };
  }

  /** Whether the identity is not blocked. */
  fits({ count }: EscalatingBlockLevel): boolean {
    return count < this.after;
  }

  /** The level after one more rejection. */
  charge(level: EscalatingBlockLevel): EscalatingBlockLevel {
    const count = level.count + 1;
    if (count === this.after) {
      const step = Math.min(this.durations.length, level.step + 1);
      const left = this.durations[step - 1]!;
      return { left, count, step, memory: left + this.longest };
    }
    return { left: count === 1 ? this.durations[0]! : level.left, count, step: level.step, memory: level.memory };
  }

  write(
    { left, count, step, memory }: EscalatingBlockLevel,
    now: number,
    state: EscalatingBlock = { ends: 0, count: 0, step: 0, forgottenAt: 0 },
  ): EscalatingBlock {
    state.ends = now + left;
    state.count = count;
    state.step = step;
    state.forgottenAt = step > 0 ? now + memory : 0;
    return state;
  }

  expiresAt({ left, memory }: EscalatingBlockLevel, now: number): number {
    return now + Math.max(left, memory);
  }

  remaining({ count, step }: EscalatingBlockLevel): number {
    // Eviction compares it with `limit`: a client must not lose its step by asking for the state of many others.
    return step > 0 ? 0 : this.after - count;
  }

  /** How far ahead `ends` can have been put. */
  private longestLeft({ count, step }: EscalatingBlock): number {
    return this.durations[count === this.after ? step - 1 : 0]!;
  }

  /** How far ahead `forgottenAt` can have been put. */
  private longestMemory({ count, step }: EscalatingBlock): number {
    return count === this.after ? this.durations[step - 1]! + this.longest : this.longest;
  }
}

/** Only a clock that stepped back makes the time until an instant longer than `longest`. */
function rebased(left: number, longest: number, maxSkew: number): number {
  return left > longest + maxSkew ? longest : left;
}

/**
 * 64 bits of a text, which an application writes itself: no client chooses it. By hand, because a browser loads this file, too, and
 * has no `node:crypto`. Source: FNV-1a, Fowler, Noll and Vo (RFC 9923).
 */
function digestOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n);
  }
  return hash.toString(36).padStart(DIGEST_LENGTH, '0');
}

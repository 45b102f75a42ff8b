import type { AlgorithmName } from '../algorithms.js';
import type { Footprint } from './footprint.js';
import type { Lease } from './lease.js';
import type { Overdraft } from './overdraft.js';
import type { Prefetch } from './prefetch.js';
import type { Refunds } from './refunds.js';
import type { Shares } from './shares.js';
import type { WireFormat } from './wire-format.js';

export type { AlgorithmName } from '../algorithms.js';

/** Whether a value is a whole number within a range that a double represents exactly. */
export function isWhole(value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/**
 * An algorithm with its parameters: pure functions from a state and an instant to a level, and from a level to a verdict. It is
 * the in-process twin of `lua/algorithms/<name>.lua`, and it knows nothing of stores or concurrency.
 *
 * - `State` is what a store keeps of a key between requests: as small as it can be.
 * - `Level` is the state seen from one instant. Redis answers with the level before a request; from there on both stores run
 *   the same code.
 * - What goes beyond a decision is a capability: an object of its own, beside the algorithm, that it has or has not.
 *
 * All instants and durations are whole microseconds. All numbers are whole and below 2^53.
 */
export interface Algorithm<Level = unknown, State = unknown> {
  readonly name: AlgorithmName;
  /** The algorithm in keys, such as `tb`. It must never change: a running system would lose its states. */
  readonly code: string;
  /** The parameters that a state depends on, as text in keys: a bucket's capacity and rate, a window's length. */
  readonly rate: string;
  /** The capacity or limit of the policy: at least 1, or 0 for what rejects everything. */
  readonly limit: number;
  /** The largest cost that can ever be allowed: at least 1, or 0 where `limit` is. */
  readonly maxCost: number;
  /**
   * Microseconds in which the limit is granted once: a window's length, or the time in which a bucket refills or drains its
   * whole limit. Not always a whole number: clients are told it, and no decision depends on it.
   */
  readonly window: number;
  /** Whether allowed requests wait for a departure slot. */
  readonly delays: boolean;
  /** Whether the limit comes back unit by unit, as in a bucket; otherwise a window ends. */
  readonly refills: boolean;

  /** The level of `state` at `now`. A state that is ahead is rebased: it is read as if it had been written now. */
  read(state: State | undefined, now: number, maxSkew: number): Level;
  /** Whether the state lies further ahead than a charge and `maxSkew` can put it, so that a clock must have stepped back. */
  isAhead(state: State, now: number, maxSkew: number): boolean;
  /**
   * Whether a request of `cost` (at least 1) is allowed.
   *
   * @param headroom what has to stay free behind it, in units of cost; default 0
   */
  fits(level: Level, cost: number, headroom?: number): boolean;
  /** The level after an allowed request. */
  charge(level: Level, cost: number): Level;
  /** The state to keep; it may be `state`, changed in place. */
  write(level: Level, now: number, state: State | undefined): State;
  /** The first instant at which the state means the same as no state. */
  expiresAt(level: Level, now: number): number;
  /** How many requests of cost 1 pass at once, 0 to `limit`; of a leaky bucket, how many waiting places are free. */
  remaining(level: Level): number;
  /** Time until the whole limit is available, or a fixed window ends, if no other request comes. */
  resetAfter(level: Level): number;
  /** Time until a request of `cost`, which does not fit now, is allowed if no other request comes. */
  retryAfter(level: Level, cost: number): number;
  /** Time that an allowed request waits for its departure slot; 0 unless the algorithm `delays`. */
  delay(level: Level): number;
  /** The parameters as a message shows them, such as `limit 5, window 60000 ms`. */
  describe(): string;

  /** How Redis is asked, and its reply read. */
  readonly wire: WireFormat<Level>;
  /** How the limit is divided among processes and shards. */
  readonly shares: Shares;
  readonly refunds?: Refunds<Level, State>;
  readonly overdraft?: Overdraft<Level>;
  readonly prefetch?: Prefetch;
  readonly lease?: Lease;
  /** Microseconds until a charge ends by itself, where it may not be the last one to do so; undefined: `resetAfter` says it. */
  readonly lasts?: number;
  readonly footprint?: Footprint<State>;
}

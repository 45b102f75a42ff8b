import type { SharedTime } from './shared-time.js';

/** The five algorithms, by the names that policies use. */
export type AlgorithmName =
  'token-bucket' | 'leaky-bucket' | 'fixed-window' | 'sliding-window-log' | 'sliding-window-counter';

/** An equal part of a limit, rounded down, but no less than `atLeast`, and no more than all of it. */
export function shareOfLimit(limit: number, processes: number, atLeast: number): number {
  return Math.min(limit, Math.max(atLeast, Math.floor(limit / processes)));
}

/** Whether a value is a whole number within a range, and one that a double represents exactly. */
export function isWhole(value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/**
 * An algorithm with its parameters: pure functions from a state and an instant to a level, and from a level to a verdict.
 * It is the in-process twin of `lua/algorithms/<name>.lua`; which store keeps the state, and how concurrent it is, is not
 * its business.
 *
 * - `State` is what a store keeps of a key between requests: as small as it can be.
 * - `Level` is the state seen from one instant: what a verdict is derived from. Redis answers with the level before the
 *   request, and from there on both stores run the same code.
 *
 * Every instant and duration is in whole microseconds, every number a whole one below 2^53.
 */
export interface Algorithm<Level = unknown, State = unknown> {
  readonly name: AlgorithmName;
  /** Whether requests wait for departure slots. */
  readonly delays: boolean;
  /** Capacity or limit: what a policy allows when nothing is taken; at least 1. */
  readonly limit: number;
  /** The largest cost that can ever be allowed; at least 1. */
  readonly maxCost: number;
  /** What the meaning of a state depends on (a bucket's capacity and rate, a window's length), as it stands in keys. */
  readonly rate: string;
  /** The numbers after `algorithm, cost` in a policy on the wire; see the header of the Lua file. */
  readonly wire: readonly number[];
  /** Bytes by which a state grows for each unit of cost; 0: it takes the same bytes from its first charge on. */
  readonly bytesPerCost: number;
  /** How many whole numbers Redis sends for a level. */
  readonly replyLength: number;

  /**
   * The same algorithm with one process's part of the limit and the rate, where `processes` share them: never more than an
   * equal part, but of the limit at least `atLeast` (and at most all of it).
   */
  share(processes: number, atLeast: number): Algorithm;
  /**
   * The share of one of `time.processes` processes, for states that outlive a change of that number: what was taken under
   * one share counts under the next, unit by unit. Of the limit it is at least `atLeast`, and at most all of it.
   */
  localShare(time: SharedTime, atLeast: number): Algorithm;
  /** Whether the state lies further ahead than it can have been put, plus `maxSkew`: then a clock has stepped back. */
  isAhead(state: State, now: number, maxSkew: number): boolean;
  /** The level of `state` at `now`; of a state that is ahead, the level of that state brought back to `now` (rebased). */
  read(state: State | undefined, now: number, maxSkew: number): Level;
  /**
   * Whether `reply[offset]` and what follows can describe a level: anything else did not come from the program.
   *
   * @param maxSkew microseconds that a state may lie further ahead than the algorithm can have put it
   */
  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean;
  /** The level that Redis described at `reply[offset]`. */
  decode(reply: readonly number[], offset: number): Level;
  /** Whether a request of `cost` (at least 1) is allowed. */
  fits(level: Level, cost: number): boolean;
  /** The level after an allowed request. */
  charge(level: Level, cost: number): Level;
  /** The state to keep; may reuse `state`. */
  write(level: Level, now: number, state: State | undefined): State;
  /**
   * Takes back out of `state`, which is not ahead, what a charge of `cost` put there, as far as nobody passes for it whom the
   * limit forbids: as if that request had never been. Others may have been refused for its sake in between.
   *
   * @param at when it was charged
   * @param resetAt that instant plus what `resetAfter` said right after the charge, which tells where it went
   */
  refund(state: State, now: number, cost: number, at: number, resetAt: number): void;
  /** Bytes that a state takes on V8's heap, or that its first one takes at least; rather too many than too few. */
  sizeOf(state: State | undefined): number;
  /** The first instant at which the state means the same as none. */
  expiresAt(level: Level, now: number): number;
  /** Whether `state` still means something after the instant that `expiresAt` gave; without the method, never. */
  outlives?(state: State, now: number): boolean;

  /** Requests of cost 1 that would pass at once (of a leaky bucket: free waiting places); 0 to `limit`. */
  remaining(level: Level): number;
  /** Until all of the limit is available again if nothing else happens (of a fixed window: until it ends). */
  resetAfter(level: Level): number;
  /** Until a request of `cost`, which does not fit now, would be allowed if nothing else happens. */
  retryAfter(level: Level, cost: number): number;
  /** How long an allowed request has to wait; 0 but for a leaky bucket. */
  delay(level: Level): number;
}

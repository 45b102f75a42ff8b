import type { AlgorithmName } from './algorithms.js';
import type { SharedTime } from './shared-time.js';

export type { AlgorithmName } from './algorithms.js';

/** An equal part of a limit, rounded down: at least `atLeast`, at most the whole limit. */
export function shareOfLimit(limit: number, processes: number, atLeast: number): number {
  return Math.min(limit, Math.max(atLeast, Math.floor(limit / processes)));
}

/** Whether a value is a whole number within a range that a double represents exactly. */
export function isWhole(value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** What a settlement knows of the charge that it settles. Instants are whole microseconds. */
export interface ChargeMark {
  /** What was charged. */
  readonly cost: number;
  /** The instant of the charge. */
  readonly at: number;
  /** `at` plus `resetAfter` right after the charge: identifies the window or slot of the charge. */
  readonly resetAt: number;
  /** What `stamp` returned. Without it a refund may be smaller. */
  readonly stamp?: readonly number[] | undefined;
}

/** What becomes of a lease of tokens: its pod has used a part of them, and uses no more. */
export interface TokenSettlement {
  /** The instant of the lease by the store's clock: whole microseconds. */
  readonly at: number;
  readonly granted: number;
  readonly used: number;
}

/**
 * An algorithm with its parameters: pure functions from a state and an instant to a level, and from a level to a verdict. It is
 * the in-process twin of `lua/algorithms/<name>.lua`, and it knows nothing of stores or concurrency.
 *
 * - `State` is what a store keeps of a key between requests: as small as it can be.
 * - `Level` is the state seen from one instant. Redis answers with the level before a request; from there on both stores run
 *   the same code.
 *
 * All instants and durations are whole microseconds. All numbers are whole and below 2^53.
 */
export interface Algorithm<Level = unknown, State = unknown> {
  readonly name: AlgorithmName;
  /** The file in `lua/algorithms/`; default `name`. */
  readonly program?: string;
  /** The algorithm in keys, such as `tb`. It must never change: a running system would lose its states. */
  readonly code: string;
  /** Whether allowed requests wait for a departure slot. */
  readonly delays: boolean;
  /** Whether the limit comes back unit by unit, as in a bucket; otherwise a window ends. */
  readonly refills: boolean;
  /** Whether a policy can split its state into shards that decide independently. */
  readonly shardable: boolean;
  /** The capacity or limit of the policy; at least 1. */
  readonly limit: number;
  /** The largest cost that can ever be allowed; at least 1. */
  readonly maxCost: number;
  /**
   * Microseconds in which the limit is granted once: a window's length, or the time in which a bucket refills or drains its
   * whole limit. Not always whole: for what clients are told, and never for a decision.
   */
  readonly window: number;
  /** The parameters that a state depends on, as text in keys: a bucket's capacity and rate, a window's length. */
  readonly rate: string;
  /** The numbers after `algorithm, ask, take` in a policy on the wire; see the header of the Lua file. */
  readonly wire: readonly number[];
  /** The same for an algorithm whose numbers depend on the instant `now`; they hold for a while before and after it. */
  wireAt?(now: number): readonly number[];
  /** Bytes by which a state grows for each unit of cost; 0 if its size is constant. */
  readonly bytesPerCost: number;
  /** How many whole numbers of a reply from Redis describe a level. */
  readonly replyLength: number;
  /**
   * Microseconds after which a charge ends that nobody renews: it is a lease, which its request holds and then releases by a
   * refund. Undefined: charges are no leases.
   */
  readonly lease?: number;

  /** The parameters as a message shows them, such as `limit 5, window 60000 ms`. */
  describe(): string;
  /**
   * The same algorithm with one process's equal part of the limit and of the rate.
   *
   * @param atLeast the smallest limit of a part, where the whole limit has as much
   */
  share(processes: number, atLeast: number): Algorithm;
  /**
   * As `share`, for states that outlive a change of the number of processes: a charge under one share counts under the next,
   * unit by unit.
   */
  localShare(time: SharedTime, atLeast: number): Algorithm;
  /** Whether the state lies further ahead than a charge and `maxSkew` can put it, so that a clock must have stepped back. */
  isAhead(state: State, now: number, maxSkew: number): boolean;
  /** The level of `state` at `now`. A state that is ahead is rebased: it is read as if it had been written now. */
  read(state: State | undefined, now: number, maxSkew: number): Level;
  /** Whether the program can have sent `reply[offset]` and the numbers after it as a level. */
  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean;
  /** The level that `reply[offset]` and the numbers after it describe. */
  decode(reply: readonly number[], offset: number): Level;
  /** Whether a request of `cost` (at least 1) is allowed. */
  fits(level: Level, cost: number): boolean;
  /** The level after an allowed request. */
  charge(level: Level, cost: number): Level;
  /** The state to keep; it may be `state`, changed in place. */
  write(level: Level, now: number, state: State | undefined): State;
  /**
   * Takes `cost` of a charge out of `state`, in place, as far as the limit allows: other requests may have been decided since.
   * `state` must not be ahead.
   *
   * @param cost a part of the charge's cost, or all of it
   * @returns what was refunded, in parts of a unit of cost: `refundUnit` of them are one
   */
  refund(state: State, now: number, cost: number, charge: ChargeMark): number;
  /** Default 1. A bucket refunds ticks. */
  readonly refundUnit?: number;
  /** The largest cost by which settlements may exceed the limit. Default 0: settlements charge no more than was reserved. */
  readonly maxOverdraft?: number;
  /** The largest cost that a settlement may charge at this level; 0 or less: none. Default 0. */
  roomWithin?(level: Level, overdraft: number): number;
  /** How many more numbers of a reply a reservation's receipt needs. Default 0. */
  readonly stampLength?: number;
  /** What those numbers are for a state in memory. */
  readStamp?(state: State | undefined, now: number): readonly number[];
  /** What a receipt has to keep of the level before its charge and of those numbers. */
  stamp?(level: Level, numbers: readonly number[] | undefined): readonly number[];
  /** Lets a state that a reservation has charged live as long as its settlement may need it. */
  hold?(state: State | undefined, now: number): void;
  /** A high estimate of the bytes of a state on V8's heap; of undefined: the least that a first state takes. */
  sizeOf(state: State | undefined): number;
  /** The first instant at which the state means the same as no state. */
  expiresAt(level: Level, now: number): number;
  /**
   * The algorithm whose charge renews the lease that ends at `resetAt`. Where that lease has ended, the charge takes another one
   * if it fits. Only with `lease`.
   */
  renewal?(resetAt: number): Algorithm;
  /**
   * The algorithm whose charge leases up to `want` tokens to a pod, and settles a lease that the pod has used before: of a token
   * bucket that knows of its leases. It always fits, and the stamp of its receipt is how many tokens it has leased.
   */
  tokenLease?(want: number, settled?: TokenSettlement): Algorithm;
  /**
   * Microseconds for which a charge that was just made can be used up by requests to come: of a window, until it ends.
   *
   * @param resetAfter of the charge's verdict
   */
  leasedFor?(resetAfter: number): number;
  /** Whether `state` still means something after `expiresAt`. Without this method it never does. */
  outlives?(state: State, now: number): boolean;

  /** How many requests of cost 1 pass at once, 0 to `limit`; of a leaky bucket, how many waiting places are free. */
  remaining(level: Level): number;
  /** Time until the whole limit is available, or a fixed window ends, if no other request comes. */
  resetAfter(level: Level): number;
  /** Time until a request of `cost`, which does not fit now, is allowed if no other request comes. */
  retryAfter(level: Level, cost: number): number;
  /** Time that an allowed request waits for its departure slot; 0 unless the algorithm `delays`. */
  delay(level: Level): number;
}

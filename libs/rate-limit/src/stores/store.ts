import type { Charge } from './charge.js';
export type { Charge, ChargeMode } from './charge.js';
import type { ChargeReceipt } from './receipt.js';
export type { ChargeReceipt } from './receipt.js';

/** What one policy says to a request. Times are whole microseconds. */
export interface ChargeVerdict {
  /** Whether this policy would let the request pass; it is charged only if all of them do. */
  readonly allowed: boolean;
  /** Requests of cost 1 that would pass now, after this one. */
  readonly remaining: number;
  /** Until all of the limit is available again, if nothing else happens. */
  readonly resetAfter: number;
  /** Until the same request would pass, if nothing else happens; 0 when allowed, Infinity when it never can. */
  readonly retryAfter: number;
  /** How long the request has to wait for its departure slot; 0 but for a leaky bucket. */
  readonly delay: number;
}

/** What a store decided of one request. */
export interface Verdict {
  /** True: every charge was made. False: none was. */
  readonly allowed: boolean;
  /** The instant of the store's clock at which it decided: microseconds since 1970. */
  readonly at: number;
  /** In the order of the charges. */
  readonly charges: readonly ChargeVerdict[];
}

/**
 * Keeps state and decides atomically. `MemoryStore` does it for one process, `RedisStore` for all pods; your own has to
 * charge all or nothing, never twice, and forget a key no sooner than its state means nothing.
 */
export interface RateLimitStore {
  /** Decides one request: makes every charge, or none. */
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict>;
  /** Forgets the keys' states. */
  reset(keys: readonly string[]): void | Promise<void>;
  /**
   * Takes charges back whose requests did not go on: at most once for each, best effort, never beyond the limit. Without this
   * method the charges stay.
   */
  refund?(receipts: readonly ChargeReceipt[]): void | Promise<void>;
  /** Called once at boot, before the first request. Must not fail because a server is away. */
  connect?(): Promise<void>;
  /** Called once at shutdown, after the last request. */
  close?(): Promise<void>;
}

/** The store could not decide: its server is away or too slow, or the state under a key is not one. */
export class RateLimitStoreError extends Error {
  override readonly name = 'RateLimitStoreError';
}

/** Microseconds since 1970, whole. */
export type Clock = () => number;

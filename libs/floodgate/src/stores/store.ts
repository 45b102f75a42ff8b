import type { Charge } from './charge.js';
export type { Charge, ChargeMode } from './charge.js';
import type { ChargeReceipt, ChargeSettlement, SettledCharge } from './receipt.js';
export type { ChargeReceipt, ChargeSettlement, SettledCharge } from './receipt.js';
export type { StoreStateChange } from './store-state.js';
import type { Timer } from './timer.js';
import type { StoreTraits } from './traits.js';
import { alwaysReadable } from '../util/thrown.js';
export type { Timer } from './timer.js';

/** What a store says about one charge of a request. Times are whole microseconds. */
export interface ChargeVerdict {
  /** Whether this policy would let the request pass. The request is charged only if all its policies would. */
  readonly allowed: boolean;
  /** Requests of cost 1 that would pass now, after this one. */
  readonly remaining: number;
  /** Time until the whole limit is available again, if nothing else happens. */
  readonly resetAfter: number;
  /** Time until the same request would pass, if nothing else happens; 0 when allowed, Infinity when it never can. */
  readonly retryAfter: number;
  /** Time until the request's departure slot. Always 0 except for a leaky bucket. */
  readonly delay: number;
  /**
   * The receipt of an allowed charge. With mode `'reserve'`, it is what `settle` takes. Otherwise it is what `refund` takes,
   * and only present if the verdict's `at` and `resetAfter` do not identify the charge.
   */
  readonly receipt?: ChargeReceipt;
  /**
   * What a rejected charge lacked, if the charge asks for it (`tellsShortfall`). A store of your own may leave it out: its
   * rejections then count as certain.
   */
  readonly shortfall?: ChargeShortfall;
  /**
   * True for estimates: `remaining` and `resetAfter` where other processes may have been charged since, and `retryAfter` where charges
   * that are still open may be refunded at any time. No store sets it.
   */
  readonly estimated?: true;
  /** Microseconds until the block of the charge's identity ends, also if this rejection began it. Undefined without a block. */
  readonly blockedFor?: number;
  /** Which of its durations the block lasts, from 1. Only of a block that has several of them. */
  readonly blockStep?: number;
}

/** What a rejected charge lacked. */
export interface ChargeShortfall {
  /**
   * Whether the charge would have fitted if these had been refunded before, as a whole.
   *
   * @param open receipts of charges that have not been refunded, in the order of their `resetAt`
   */
  fitsWithout(open: readonly ChargeReceipt[]): boolean;
}

/** What a store decided for one request. */
export interface Verdict {
  /** True: the store made every charge, but shadows that do not fit. False: it made none. */
  readonly allowed: boolean;
  /** The instant of the decision by the store's clock: microseconds since 1970. */
  readonly at: number;
  /** The verdicts on the charges, in the order of the charges. */
  readonly charges: readonly ChargeVerdict[];
}

/**
 * Keeps state and decides atomically: `MemoryStore` for one process, `RedisStore` for all pods. A store of your own charges
 * all or nothing, never charges twice, and forgets a key no sooner than its state means nothing.
 */
export interface RateLimitStore {
  /** Decides one request: makes every charge, or none. */
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict>;
  /**
   * Forgets the states of these keys. Returns the number of the keys that had a state; nothing where the store does not know it.
   */
  reset(keys: readonly string[]): number | void | Promise<number | void>;
  /** Refunds charges: each at most once, best effort, never beyond the limit. Without this method the charges stay. */
  refund?(receipts: readonly ChargeReceipt[]): void | Promise<void>;
  /**
   * Settles reservations at their final costs, all of them or, where a state cannot be read, none (on a Cluster: in each slot).
   * A smaller final cost is refunded as `refund` does. A larger one is charged at once, whether it fits or not, up to the
   * overdraft. The keys are distinct. Without this method `RateLimiter.reserve` refunds with `refund`, and cannot charge more.
   *
   * @returns what was refunded and charged, in the order of the settlements; undefined for one that another server failed to
   *   make
   */
  settle?(
    settlements: readonly ChargeSettlement[],
  ): readonly (SettledCharge | undefined)[] | Promise<readonly (SettledCharge | undefined)[]>;
  /** Called once at boot, before the first request. Must not fail because a server is unavailable. Default nothing. */
  connect?(): Promise<void>;
  /**
   * Called once at shutdown, after the last request, for a store that the module opened. A store that the application gives
   * as `store` is left open: close it where you made it. Default nothing.
   */
  close?(): Promise<void>;
  /**
   * What the store does beside plain charges; default nothing. Without `'shadow'`, `'block'` and `'headroom'`, policies with
   * `mode: 'shadow'`, `blockFor` or `priorities` stop the boot: the store would enforce a shadow, not block, or give
   * the reserve away. Without `'prefetch'`, a policy's `prefetch` has no effect: processes then ask the store about each request.
   * A store with it has one clock for all processes. Without `'alternatives'`, a policy's `else` asks the store about one policy
   * after the other.
   */
  readonly supports?: readonly ('shadow' | 'block' | 'headroom' | 'prefetch' | 'alternatives')[] | undefined;
  /** @internal Called before `traits` are read. */
  [LOAD]?(): Promise<unknown>;
  /** @internal What the library knows of its own stores beside `supports` and the methods. */
  readonly traits?: Partial<StoreTraits> | undefined;
  /**
   * Lets delayed requests wait by this store's clock, for a store whose clock is not that of the process, such as one of a test.
   * Default the process's own timer.
   */
  readonly timer?: Timer | undefined;
}

/** The method of a store that loads what decides. Another copy of the package may have made the store. */
export const LOAD = Symbol.for('nestjs-floodgate: load');

/**
 * The store could not decide: its server is unavailable or too slow, or the state under a key is unreadable.
 *
 * @example if (error instanceof RateLimitStoreError) console.error(error.message, error.cause);
 */
export class RateLimitStoreError extends Error {
  static {
    alwaysReadable(this);
  }

  override readonly name = 'RateLimitStoreError';
}

/** Microseconds since 1970, whole. */
export type Clock = () => number;

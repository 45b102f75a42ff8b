import type { Deadlines } from '../stores/deadlines.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RedisUnavailableError } from '../stores/redis/redis-failure.js';
import {
  type Charge,
  type ChargeReceipt,
  type RateLimitStore,
  RateLimitStoreError,
  type Verdict,
} from '../stores/store.js';
import { isPromise } from '../util/is-promise.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { RationedWarning, reasonOf } from '../util/rationed-warning.js';
import type { DenialCache } from './denial-cache.js';

/** The store as the limiter uses it. */
export interface GatewaySettings {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  /** Whether the store keeps the deadline by itself, for many requests at a time. */
  readonly keepsTime: boolean;
  /** The rejections that are certain and are not asked again. */
  readonly denials?: DenialCache | undefined;
}

/** The one way to the store: every request gets its answer, or a failure within the deadline. */
export class StoreGateway {
  private readonly store: RateLimitStore;
  private readonly deadlines: Deadlines;
  private readonly keepsTime: boolean;
  private readonly denials: DenialCache | undefined;
  private readonly failures: RationedWarning;
  /** Whether the store knows shadows and blocks. */
  private readonly decidesAll: boolean;

  constructor({ store, deadlines, keepsTime, denials }: GatewaySettings, logger: Pick<Logger, 'warn'>) {
    this.store = store;
    this.deadlines = deadlines;
    this.keepsTime = keepsTime;
    this.denials = denials;
    this.decidesAll = lackOf(store, { shadow: true, block: true }) === undefined;
    this.failures = new RationedWarning(logger);
  }

  /** Decisions of a full `MemoryStore` on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.store instanceof MemoryStore ? this.store.overflowed : 0;
  }

  /** A rejection that is certain; undefined when the store has to be asked. */
  denied(charges: readonly Charge[]): Verdict | undefined {
    return this.denials?.find(charges);
  }

  /** @throws what the store fails with, or that it was too slow (what it charges later stays charged) */
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    if (!this.decidesAll) this.checkCharges(charges);
    const answer = this.store.consume(charges);
    return this.keepsTime ? answer : this.checked(answer, charges.length);
  }

  /** Forgets the states within the deadline. A failure is the caller's. */
  async reset(keys: readonly string[]): Promise<void> {
    try {
      await this.deadlines.within(Promise.resolve(this.store.reset(keys)));
    } finally {
      this.denials?.forget(keys); // a reset that failed may have been carried out
    }
  }

  /** Refunds without waiting. A refund that is lost stays charged. */
  refund(receipts: readonly ChargeReceipt[]): void {
    const failed = (error: unknown): void => this.failures.warn(`The store refunded nothing: ${reasonOf(error)}`);
    try {
      const refunded = this.store.refund?.(receipts);
      if (isPromise(refunded)) refunded.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** The store's failure as one kind of error. At most one warning a second is logged. */
  failure(thrown: unknown): RateLimitStoreError {
    // A store of the application may throw anything.
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (error instanceof RedisUnavailableError) return error;
    this.failures.warn(withHelp(`The store could not decide: ${error.message}`, 'FG_STORE_UNAVAILABLE'));
    if (error instanceof RateLimitStoreError) return error;
    return new RateLimitStoreError(`the store failed: ${error.message}`, { cause: thrown });
  }

  /** A policy that is met at run time; boot checks the others. */
  private checkCharges(charges: readonly Charge[]): void {
    for (const charge of charges) {
      const lack = lackOf(this.store, charge);
      if (lack !== undefined) throw new TypeError(lack);
    }
  }

  private async checked(answer: Verdict | Promise<Verdict>, charges: number): Promise<Verdict> {
    const verdict = isPromise(answer) ? await this.deadlines.within(answer) : answer;
    if (
      verdict?.charges?.length !== charges ||
      verdict.charges.some((charge) => typeof charge?.allowed !== 'boolean')
    ) {
      throw new TypeError('its answer is no verdict');
    }
    return verdict;
  }
}

/** Why the store cannot decide a policy: it would enforce a shadow, or not block. Undefined when it can. */
export function lackOf(
  { supports = [] }: Pick<RateLimitStore, 'supports'>,
  { shadow, block }: { readonly shadow?: boolean; readonly block?: unknown },
): string | undefined {
  const missing = shadow === true && !supports.includes('shadow') ? 'shadow' : 'block';
  if (missing === 'block' && (block === undefined || supports.includes('block'))) return undefined;
  const option = missing === 'shadow' ? `mode: 'shadow'` : 'blockFor';
  return `the store does not know ${option}: use MemoryStore or RedisStore, or have your store's supports include '${missing}'`;
}

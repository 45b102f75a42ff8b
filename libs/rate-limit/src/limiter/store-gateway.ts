import type { Deadlines } from '../stores/deadlines.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RedisUnavailableError } from '../stores/redis/redis-failure.js';
import {
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  type RateLimitStore,
  RateLimitStoreError,
  type SettledCharge,
  type Verdict,
} from '../stores/store.js';
import { isPromise } from '../util/is-promise.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { RationedWarning, reasonOf } from '../util/rationed-warning.js';
import type { DenialCache } from './denial-cache.js';
import type { PolicyCharge } from './policy-charge.js';
import { TokenLeases } from './token-leases/token-leases.js';

/** The store as the limiter uses it. */
export interface GatewaySettings {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  /** Whether the store keeps the deadline by itself, for many requests at a time. */
  readonly keepsTime: boolean;
  /** The rejections that are certain and are not asked again. */
  readonly denials?: DenialCache | undefined;
  /** Milliseconds of a clock that never steps, for leases of tokens; default the process's. */
  readonly monotonicMs?: (() => number) | undefined;
}

/** The one way to the store: every request gets its answer, or a failure within the deadline. */
export class StoreGateway {
  private readonly store: RateLimitStore;
  private readonly deadlines: Deadlines;
  private readonly keepsTime: boolean;
  private readonly denials: DenialCache | undefined;
  /** The tokens that this process has taken ahead; undefined where it decides nothing without the store. */
  readonly tokenLeases: TokenLeases | undefined;
  private readonly failures: RationedWarning;
  /** Whether the store knows shadows and blocks. */
  private readonly decidesAll: boolean;

  constructor({ store, deadlines, keepsTime, denials, monotonicMs }: GatewaySettings, logger: Pick<Logger, 'warn'>) {
    this.store = store;
    this.deadlines = deadlines;
    this.keepsTime = keepsTime;
    this.denials = denials;
    this.decidesAll = lackOf(store, { shadow: true, block: true }) === undefined;
    this.failures = new RationedWarning(logger);
    if (store.supports?.includes('lease') !== true) return;
    this.tokenLeases = new TokenLeases({
      ask: (charges) => this.consume(charges),
      refund: (receipts) => this.refund(receipts),
      denied: (charges) => this.denied(charges),
      monotonicMs,
      timer: store.timer,
    });
  }

  /** Decisions of a full `MemoryStore` on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.store instanceof MemoryStore ? this.store.overflowed : 0;
  }

  /** A rejection that is certain; undefined when the store has to be asked. */
  denied(charges: readonly Charge[]): Verdict | undefined {
    return this.denials?.find(charges);
  }

  /** As `consume`, for charges some of which this process may have tokens for. */
  decide(charges: readonly PolicyCharge[]): Verdict | Promise<Verdict> {
    return this.tokenLeases === undefined ? this.consume(charges) : this.tokenLeases.consume(charges);
  }

  /** @throws what the store fails with, or that it was too slow (what it charges later stays charged) */
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    if (!this.decidesAll) this.checkCharges(charges);
    const answer = this.store.consume(charges);
    if (this.keepsTime) return answer;
    // Not awaited where it is there: a renewal on a test's clock has to be made before the clock goes on.
    if (!isPromise(answer)) return checked(answer, charges.length);
    return this.deadlines.within(answer).then((verdict) => checked(verdict, charges.length));
  }

  /** Forgets the states within the deadline. A failure is the caller's. */
  async reset(keys: readonly string[]): Promise<void> {
    this.tokenLeases?.reset(keys);
    try {
      await this.deadlines.within(Promise.resolve(this.store.reset(keys)));
    } finally {
      this.denials?.forget(keys); // a reset that failed may have been carried out
    }
  }

  /** Refunds without waiting. A refund that is lost stays charged. */
  refund(receipts: readonly ChargeReceipt[]): void {
    const failed = (error: unknown): void =>
      this.failures.warn(withHelp(`The store refunded nothing: ${reasonOf(error)}`, 'FG_STORE_UNAVAILABLE'));
    try {
      const refunded = this.store.refund?.(receipts);
      if (isPromise(refunded)) refunded.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** @throws {TypeError} when the store would have to charge more than was reserved, and has no `settle` */
  checkSettlements(settlements: readonly ChargeSettlement[]): void {
    if (this.store.settle !== undefined) return;
    const more = settlements.find(({ receipt, finalCost }) => finalCost > receipt.cost);
    if (more === undefined) return;
    throw new TypeError(
      `${more.receipt.cost} was reserved, and ${more.finalCost} cannot be charged: the store has no method settle ` +
        '(see RateLimitStore)',
    );
  }

  /**
   * Settles reservations within the deadline.
   *
   * @throws what the store fails with, or that it was too slow (what it settles later stays settled)
   */
  async settle(settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> {
    try {
      if (this.store.settle === undefined) return await this.refundParts(settlements);
      const answer = this.store.settle(settlements);
      const settled = await (isPromise(answer) && !this.keepsTime ? this.deadlines.within(answer) : answer);
      if (settled?.length !== settlements.length) throw new TypeError('its answer is no settlement');
      return settled;
    } finally {
      this.denials?.forget(settlements.map(({ receipt }) => receipt.key)); // a refund lets requests pass
    }
  }

  /** Refunds what was reserved beyond the final costs. A store that cannot refund settles nothing. */
  private async refundParts(settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> {
    const { store } = this;
    if (store.refund === undefined) return settlements.map(() => undefined);
    const parts = settlements.map(({ receipt, finalCost }) => ({ ...receipt, cost: receipt.cost - finalCost }));
    await this.deadlines.within(Promise.resolve(store.refund(parts.filter(({ cost }) => cost > 0))));
    return settlements.map(() => ({ refunded: null, charged: 0 }));
  }

  /**
   * The store's failure as one kind of error. At most one warning a second is logged.
   *
   * @param task what the store could not do
   */
  failure(thrown: unknown, task = 'decide'): RateLimitStoreError {
    // A store of the application may throw anything.
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (error instanceof RedisUnavailableError) return error;
    this.failures.warn(withHelp(`The store could not ${task}: ${error.message}`, 'FG_STORE_UNAVAILABLE'));
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
}

/** @throws {TypeError} when a store of the application has answered with anything else */
function checked(verdict: Verdict, charges: number): Verdict {
  if (verdict?.charges?.length !== charges || verdict.charges.some((charge) => typeof charge?.allowed !== 'boolean')) {
    throw new TypeError('its answer is no verdict');
  }
  return verdict;
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

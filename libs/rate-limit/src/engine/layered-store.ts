import { RateLimitConfigError } from '../util/config-error.js';
import { peekOf } from '../stores/charge.js';
import type { Deadlines } from '../stores/deadlines.js';
import {
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  type RateLimitStore,
  RateLimitStoreError,
  type SettledCharge,
  type Verdict,
} from '../stores/store.js';
import { ReturnedSlots } from '../stores/returned-slots.js';
import { processTimer, type Timer } from '../stores/timer.js';
import { type StoreTraits, traitsOf } from '../stores/traits.js';
import { StoreUnavailableError } from '../stores/unavailable.js';
import { andThen, type Answer, answerOf, attempt } from '../util/answer.js';
import { adopted, isPromise } from '../util/is-promise.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { readable, reasonOf } from '../util/thrown.js';
import { unawaited } from '../util/unawaited.js';
import type { ChargeKeeper, ChargeWatch } from '../charges/charge-keeper.js';
import type { DenialCache } from '../layers/denials/denial-cache.js';
import type { Decider, StoreDecider } from '../charges/decider.js';
import { withinDeadline } from '../layers/deadline/deadline.js';
import { DenialsLayer } from '../layers/denials/denials.js';
import { EstimatesLayer } from '../layers/estimates/estimates.js';
import { OpenCharges } from '../layers/estimates/open-charges.js';
import { PrefetchLayer } from '../layers/prefetch/prefetch.js';

/** The settings of a `LayeredStore`. */
export interface LayeredStoreSettings {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  /** The denial cache. */
  readonly denials?: DenialCache | undefined;
  /** Milliseconds of a clock that never steps, for prefetched tokens; default the process's. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Default: no charge is looked at. */
  readonly watch?: ChargeWatch | undefined;
}

/** The store with the layers that the configuration needs, and its calls other than decisions. */
export class LayeredStore implements ChargeKeeper {
  readonly by = 'store';
  readonly traits: StoreTraits;
  /** The store's own timer, or that of the process. */
  readonly timer: Timer;
  /** Decides: prefetched tokens first, then denials, then the store. It contains only layers that the configuration needs. */
  readonly chain: Decider;
  /** The prefetched tokens of this process; undefined if the store does not support prefetching. */
  readonly prefetch: PrefetchLayer | undefined;
  readonly watch: ChargeWatch | undefined;
  /** How long the store may take to decide. */
  readonly deadlines: Deadlines;
  /** The charges that this process has made in the store and has not settled. */
  readonly open = new OpenCharges((keys) => this.denials?.forget(keys));
  private readonly store: RateLimitStore;
  private readonly denials: DenialCache | undefined;
  private readonly innermost: StoreDecider;
  private readonly slots: ReturnedSlots;
  private readonly failures: RationedWarning;
  /** Whether the store answers without a promise. Undefined until the store was asked. */
  private atOnce: boolean | undefined;

  constructor({ store, deadlines, denials, monotonicMs, watch }: LayeredStoreSettings, logger: Pick<Logger, 'warn'>) {
    this.watch = watch;
    const traits = (this.traits = traitsOf(store));
    this.store = store;
    this.timer = store.timer ?? processTimer;
    this.deadlines = deadlines;
    this.denials = denials;
    this.atOnce = traits.answersAtOnce;
    this.failures = new RationedWarning(logger);
    this.slots = new ReturnedSlots((receipt) => this.refundSlot(receipt), this.timer);
    this.innermost = withinDeadline(store, traits, deadlines, (receipts) => {
      const others = receipts.filter((receipt) => !this.returnSlot(receipt));
      if (others.length > 0) this.refund(others);
    });
    let chain: Decider = new EstimatesLayer(this.open, this.innermost);
    if (denials !== undefined) chain = new DenialsLayer(denials, !traits.notesDenials, chain);
    if (traits.prefetch) {
      chain = this.prefetch = new PrefetchLayer({
        inner: chain,
        ask: (charges) => this.decidePatiently(charges),
        refund: (receipts) => this.refund(receipts),
        monotonicMs,
        timer: store.timer,
      });
    }
    this.chain = chain;
  }

  /** Decisions that a full `MemoryStore` made on a shared overflow state. */
  get memoryOverflows(): number {
    return this.traits.overflowed?.() ?? 0;
  }

  decidePatiently(charges: readonly Charge[]): Answer<Verdict> {
    return this.innermost.decidePatiently(charges);
  }

  /**
   * Whether the store answers without a promise. An application's store is asked once, with charges of cost 0. While it fails,
   * the answer is true.
   */
  answersAtOnce(charges: readonly Charge[]): boolean {
    this.atOnce ??= this.tryAnswer(charges);
    return this.atOnce !== false;
  }

  /** The error of a store that answers with a promise. */
  answersLater(where: string): RateLimitConfigError {
    const { server } = this.traits;
    const store = server === undefined ? 'the store' : `the store is ${server}, which`;
    return new RateLimitConfigError(
      where,
      `${store} answers later, so there is no decision yet: use RateLimiter.consume`,
    );
  }

  /** Undefined if the store fails: the decision then reports the failure. */
  private tryAnswer(charges: readonly Charge[]): boolean | undefined {
    try {
      const answer = this.store.consume(charges.map((charge) => ({ ...peekOf(charge), cost: 0 })));
      if (!isPromise(answer)) return true;
      adopted(answer).then(undefined, nothing);
      return false;
    } catch {
      return undefined;
    }
  }

  /** Forgets the states within the deadline, as `RateLimitStore.reset` does. Rejects if the store fails. */
  async reset(keys: readonly string[]): Promise<number | void> {
    this.prefetch?.reset(keys);
    this.open.forget(keys);
    try {
      return await this.deadlines.within(Promise.resolve(this.store.reset(keys)));
    } finally {
      this.denials?.forget(keys); // a reset that failed may have been carried out
    }
  }

  /** Refunds without waiting. A refund that is lost stays charged. */
  refund(receipts: readonly ChargeReceipt[]): void {
    const failed = (error: unknown): void =>
      this.failures.warn(withHelp(`The store refunded nothing: ${reasonOf(error)}`, 'FG_STORE_UNAVAILABLE'));
    unawaited(attempt(() => answerOf(this.store.refund?.(receipts)), nothing, failed));
  }

  /** Takes back the slot of a queue, as soon as it is the last one. Returns false for a charge without a slot. */
  returnSlot(receipt: ChargeReceipt): boolean {
    if (!receipt.algorithm.delays || !this.traits.settles) return false;
    this.slots.add(receipt);
    return true;
  }

  private refundSlot(receipt: ChargeReceipt): Answer<boolean> {
    const settlements = [{ receipt, finalCost: 0, overdraft: 0 }];
    return andThen(this.settle(settlements), ([settled]) => (settled?.refunded ?? 0) > 0);
  }

  /** @throws {RateLimitConfigError} when the store would have to charge more than was reserved, and has no `settle` */
  checkCosts(receipts: readonly { readonly proof: ChargeReceipt }[], finalCosts: readonly number[]): void {
    if (this.traits.settles) return;
    const more = receipts.findIndex(({ proof }, i) => finalCosts[i]! > proof.cost);
    if (more < 0) return;
    throw new RateLimitConfigError(
      'Reservation.settle',
      `${receipts[more]!.proof.cost} was reserved, and ${finalCosts[more]} cannot be charged: the store has no method settle ` +
        '(see RateLimitStore)',
    );
  }

  /**
   * Settles reservations within the deadline.
   *
   * @throws the store's failure, or a missed deadline; what the store settles later stays settled
   */
  settle(settlements: readonly ChargeSettlement[]): Answer<readonly (SettledCharge | undefined)[]> {
    return attempt(
      () => (this.traits.settles ? this.settleInStore(settlements) : this.refundParts(settlements)),
      (settled) => {
        this.forgetDenials(settlements);
        if (settled?.length !== settlements.length) throw new TypeError('its answer is no settlement');
        return settled;
      },
      (error) => {
        this.forgetDenials(settlements);
        throw error;
      },
    );
  }

  private settleInStore(settlements: readonly ChargeSettlement[]): Answer<readonly (SettledCharge | undefined)[]> {
    const answer = answerOf(this.store.settle!(settlements));
    return this.traits.keepsDeadline || !(answer instanceof Promise) ? answer : this.deadlines.within(answer);
  }

  /** Forgets denials: a refund may let the same requests pass. */
  private forgetDenials(settlements: readonly ChargeSettlement[]): void {
    this.denials?.forget(settlements.map(({ receipt }) => receipt.key));
  }

  /** Refunds what was reserved beyond the final costs. A store that cannot refund settles nothing. */
  private async refundParts(settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> {
    const { store, traits } = this;
    if (!traits.refunds) return settlements.map(() => undefined);
    const parts = settlements.map(({ receipt, finalCost }) => ({ ...receipt, cost: receipt.cost - finalCost }));
    await this.deadlines.within(Promise.resolve(store.refund!(parts.filter(({ cost }) => cost > 0))));
    return settlements.map(() => ({ refunded: null, charged: 0 }));
  }

  /**
   * Converts the store's failure to a `RateLimitStoreError`. Logs at most one warning a second.
   *
   * @param task what the store could not do
   */
  failure(thrown: unknown, task = 'decide'): RateLimitStoreError {
    // A store of the application may throw anything.
    const known = readable(thrown);
    const error = known instanceof Error ? known : new Error(reasonOf(known));
    if (error instanceof StoreUnavailableError && error.isLogged) return error;
    this.failures.warn(withHelp(`The store could not ${task}: ${reasonOf(error)}`, 'FG_STORE_UNAVAILABLE'));
    if (error instanceof RateLimitStoreError) return error;
    return new RateLimitStoreError(`the store failed: ${reasonOf(error)}`, { cause: thrown });
  }
}

const nothing = (): void => undefined;

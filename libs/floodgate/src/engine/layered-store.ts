import { RateLimitConfigError } from '../util/config-error.js';
import { peekOf } from '../stores/charge.js';
import type { Deadlines } from '../stores/deadlines.js';
import type { Denials } from '../stores/denials.js';
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
import { RunningWork } from '../util/running-work.js';
import { readable, reasonOf } from '../util/thrown.js';
import { unawaited } from '../util/unawaited.js';
import type { RateLimitStats } from '../watch/stats.js';
import type { ChargeKeeper, ChargeWatch } from '../charges/charge-keeper.js';
import type { Decider, StoreDecider } from '../charges/decider.js';
import { withinDeadline } from '../layers/deadline/deadline.js';
import { EstimatesLayer } from '../layers/estimates/estimates.js';
import { OpenCharges } from '../layers/estimates/open-charges.js';

/** What stands in front of the store, and what it does beside decisions. */
export interface StoreLayer extends Decider {
  /** Forgets tokens that were taken ahead of requests, before the states of these keys are reset. */
  reset?(keys: readonly string[]): void;
  /** Forgets the certain rejections of these keys: a part of their charges was refunded. */
  uncertain?(keys: readonly string[]): void;
  /** Refunds tokens that no request has used. */
  close?(): Promise<void>;
  stats?(): Partial<RateLimitStats>;
}

/** Makes a layer in front of `inner`; undefined where it has nothing to do over this store. */
export type MakeLayer = (inner: Decider, store: LayeredStore, settings: LayeredStoreSettings) => StoreLayer | undefined;

/** The settings of a `LayeredStore`. */
export interface LayeredStoreSettings {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  /** Keeps the store's rejections. */
  readonly denials?: Denials | undefined;
  /** Milliseconds of a clock that never steps, for prefetched tokens; default the process's. */
  readonly monotonicMs?: (() => number) | undefined;
  /** The layers that may be needed, the innermost first. */
  readonly layers: readonly MakeLayer[];
  readonly watches: readonly ChargeWatch[];
}

/** The store with the layers that the configuration needs, and its calls other than decisions. */
export class LayeredStore implements ChargeKeeper {
  readonly by = 'store';
  readonly traits: StoreTraits;
  /** The store's own timer, or that of the process. */
  readonly timer: Timer;
  /** Decides: the layers, then the store. It contains only layers that the configuration needs. */
  readonly chain: Decider;
  readonly layers: readonly StoreLayer[];
  readonly watches: readonly ChargeWatch[];
  /** How long the store may take to decide. */
  readonly deadlines: Deadlines;
  /** The charges that this process has made in the store and has not settled. */
  readonly open = new OpenCharges((keys) => this.uncertain(keys));
  private readonly store: RateLimitStore;
  private readonly innermost: StoreDecider;
  /** The slots of clients that have left. */
  private readonly slots: ReturnedSlots;
  /** The open questions to a store that does not tell by itself when it has answered. */
  private readonly asked = new RunningWork();
  private readonly failures: RationedWarning;
  /** Whether the store answers without a promise. Undefined until the store was asked. */
  private atOnce: boolean | undefined;

  constructor(settings: LayeredStoreSettings, logger: Pick<Logger, 'warn'>) {
    const { store, deadlines, watches } = settings;
    this.watches = watches;
    const traits = (this.traits = traitsOf(store));
    this.store = store;
    this.timer = store.timer ?? processTimer;
    this.deadlines = deadlines;
    this.atOnce = traits.answersAtOnce;
    this.failures = new RationedWarning(logger);
    this.slots = traits.slots ?? new ReturnedSlots((receipt) => this.refundSlot(receipt), this.timer);
    const abandoned = (receipts: readonly ChargeReceipt[]): void => {
      const others = receipts.filter((receipt) => !this.returnSlot(receipt));
      if (others.length > 0) this.refund(others);
    };
    this.innermost = withinDeadline(store, traits, deadlines, abandoned, (answer) => this.track(answer));
    let inner: Decider = new EstimatesLayer(this.open, this.innermost);
    this.layers = settings.layers.flatMap((make) => {
      const layer = make(inner, this, settings);
      inner = layer ?? inner;
      return layer ?? [];
    });
    this.chain = inner;
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
    for (const layer of this.layers) layer.reset?.(keys);
    this.open.forget(keys);
    try {
      return await this.deadlines.within(Promise.resolve(this.store.reset(keys)));
    } finally {
      this.uncertain(keys); // a reset that failed may have been carried out
    }
  }

  /** Refunds without waiting. A refund that is lost stays charged. */
  refund(receipts: readonly ChargeReceipt[]): void {
    const failed = (error: unknown): void =>
      this.failures.warn(withHelp(`The store refunded nothing: ${reasonOf(error)}`, 'FG_STORE_UNAVAILABLE'));
    unawaited(attempt(() => this.track(answerOf(this.store.refund?.(receipts))), nothing, failed));
  }

  /** Takes back the slot of a queue, as soon as it is the last one. Returns false for a charge without a slot. */
  returnSlot(receipt: ChargeReceipt): boolean {
    if (!receipt.algorithm.delays || !this.traits.settles) return false;
    unawaited(this.slots.add(receipt, (keys) => this.uncertain(keys)));
    return true;
  }

  private refundSlot(receipt: ChargeReceipt): Answer<boolean> {
    // Without a deadline: a slot whose answer is not known is lost, and those before it stay.
    const answer = this.track(answerOf(this.store.settle!([{ receipt, finalCost: 0, overdraft: 0 }])));
    return andThen(answer, ([settled]) => (settled?.refunded ?? 0) > 0);
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
    const uncertain = (): void => this.uncertain(settlements.map(({ receipt }) => receipt.key));
    return attempt(
      () => {
        const answer = this.settled(settlements, uncertain);
        return this.traits.keepsDeadline || !(answer instanceof Promise) ? answer : this.deadlines.within(answer);
      },
      (settled) => settled,
      (error) => {
        uncertain();
        throw error;
      },
    );
  }

  /** The answer of the store, however late. */
  private settled(
    settlements: readonly ChargeSettlement[],
    uncertain: () => void,
  ): Answer<readonly (SettledCharge | undefined)[]> {
    const { store, traits } = this;
    const answer = traits.settles ? this.track(answerOf(store.settle!(settlements))) : this.refundParts(settlements);
    return andThen(answer, (settled) => {
      uncertain();
      if (settled?.length !== settlements.length) throw new TypeError('its answer is no settlement');
      this.slots.addRefused(settlements, settled, uncertain);
      return settled;
    });
  }

  /** Resolves once the store has answered all questions, however late, and the refunds that follow. The process is about to end. */
  idle(): Promise<void> {
    this.slots.hurry();
    return this.traits.idle?.() ?? this.asked.ended();
  }

  /** Resolves once no refund is on its way to a store that stays open. */
  async close(): Promise<void> {
    await this.idle();
    if (!this.traits.isLocal) await this.slots.emptied();
  }

  private track<T>(answer: T): T {
    return this.traits.idle === undefined ? this.asked.track(answer) : answer;
  }

  /** Notes that a part of the keys' charges may have been refunded. */
  private uncertain(keys: readonly string[]): void {
    for (const layer of this.layers) layer.uncertain?.(keys);
  }

  /** Refunds what was reserved beyond the final costs. A store that cannot refund settles nothing. */
  private async refundParts(settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> {
    const { store, traits } = this;
    if (!traits.refunds) return settlements.map(() => undefined);
    const parts = settlements.map(({ receipt, finalCost }) => ({ ...receipt, cost: receipt.cost - finalCost }));
    await this.track(answerOf(store.refund!(parts.filter(({ cost }) => cost > 0))));
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

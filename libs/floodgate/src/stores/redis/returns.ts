import { wallClock } from '../clock.js';
import { closingStep } from '../loop-timer.js';
import type { ChargeReceipt, ChargeSettlement, Clock, SettledCharge } from '../store.js';
import { ReturnedSlots } from '../returned-slots.js';
import type { Timer } from '../timer.js';
import { clearTimeout, setTimeout } from '../../util/real-timers.js';
import { unheld } from '../../util/runtime.js';
import { unawaited } from '../../util/unawaited.js';
import { PendingSettlement } from './batch/pending-request.js';

/** The most settlements that wait for Redis, about 0.5 KB each. What comes while so many wait stays charged. */
const MOST = 10_000;
/** Milliseconds until Redis is asked again. */
const AGAIN_MS = 100;
/** Microseconds by which the clocks of Redis and of this process may be apart: a settlement after a charge's end does nothing. */
const APART = 60_000_000;

export interface ReturnsSettings {
  /** Sends a settlement; never throws. @param isSure whether it is sent whatever the breaker says */
  readonly settle: (settlement: PendingSettlement, isSure: boolean) => void;
  /** Resolves once nothing waits for an answer of Redis. */
  readonly idle: () => Promise<void>;
  /** Whether the server of a key may be asked. */
  readonly isAvailable: (key: string) => boolean;
  /** The clock that decides; undefined: that of Redis. */
  readonly clock: Clock | undefined;
  readonly timer?: Timer | undefined;
}

/**
 * The way back of what the store has charged: settlements, refunds, releases and left slots.
 *
 * What Redis has certainly not run is sent again once Redis answers, until the charge has ended by itself. What may have been run is
 * not: leases of one batch end in the same microsecond, and a second release would free the place of another request.
 */
export class Returns {
  private waiting: (readonly ChargeSettlement[])[] = [];
  private isArmed = false;
  private isClosing = false;
  private isClosed = false;
  private readonly now: Clock;
  private readonly timer: Timer;
  /** The slots of all that has left: a queue can only take back its last one. */
  readonly slots: ReturnedSlots;

  constructor(private readonly settings: ReturnsSettings) {
    this.now = settings.clock ?? wallClock;
    this.timer = settings.timer ?? realTimer;
    this.slots = new ReturnedSlots((receipt) => this.refundSlot(receipt), this.timer);
  }

  /**
   * Refunds charges, each by itself. Never throws.
   *
   * @param done called once, with or without success
   * @param isAbandoned whether nobody got these charges. The breaker then keeps none of them back, and a slot waits until it is the last one.
   */
  refund(taken: readonly ChargeReceipt[], done: () => void, isAbandoned = false): void {
    let left = 1;
    const answered = (): void => {
      if (--left === 0) done();
    };
    // A queue can only take back its last slot, and then the one before it is the last.
    const ordered = taken.length > 1 ? taken.toSorted((one, other) => other.resetAt - one.resetAt) : taken;
    for (const receipt of ordered) {
      left++;
      if (isAbandoned && receipt.algorithm.delays) {
        unawaited(this.slots.add(receipt).then(answered));
        continue;
      }
      const isSure = isAbandoned || this.isClosing;
      this.send([{ receipt, finalCost: 0, overdraft: 0 }], answered, answered, isSure);
    }
    answered();
  }

  /** Settles charges whose keys share a slot: all or none. Rejects at once where the server is unavailable. */
  settle(settlements: readonly ChargeSettlement[]): Promise<readonly SettledCharge[]> {
    return new Promise((resolve, reject) => {
      this.send(settlements, resolve, reject).late = this.keepingRefused(settlements);
    });
  }

  /** Sends what waits, whatever the breaker says, until all of it has an answer or a while has passed. Nothing is sent again afterwards. */
  async close(): Promise<void> {
    this.isClosing = true;
    await closingStep(this.emptied());
    this.isClosed = true;
  }

  private async emptied(): Promise<void> {
    for (;;) {
      this.again();
      await this.settings.idle();
      await this.slots.emptied();
      if (this.waiting.length === 0 || this.isClosed) return;
      await new Promise<void>((resolve) => this.timer(AGAIN_MS, resolve));
    }
  }

  private send(
    settlements: readonly ChargeSettlement[],
    resolve: (settled: readonly SettledCharge[]) => void,
    reject: (error: Error) => void,
    isSure = this.isClosing,
    isPatient = false,
  ): PendingSettlement {
    const notRun = (): void => this.keep(settlements);
    const pending = new PendingSettlement(settlements, resolve, reject, notRun, isPatient);
    this.settings.settle(pending, isSure);
    return pending;
  }

  /** Keeps the slots that a queue has kept, of a settlement whose answer nobody else sees. */
  private keepingRefused(settlements: readonly ChargeSettlement[]): PendingSettlement['late'] {
    return (settled) => this.slots.addRefused(settlements, settled);
  }

  /** Takes back the slot of a queue, if it is the last one. */
  private refundSlot(receipt: ChargeReceipt): Promise<boolean> {
    const settlements = [{ receipt, finalCost: 0, overdraft: 0 }];
    // However late: a slot whose answer is not known is lost, and those before it stay.
    return new Promise((resolve, reject) =>
      this.send(settlements, ([settled]) => resolve(settled!.refunded! > 0), reject, this.isClosing, true),
    );
  }

  /** Keeps what Redis has not run. */
  private keep(settlements: readonly ChargeSettlement[]): void {
    if (this.isClosed || this.waiting.length >= MOST) return;
    this.waiting.push(settlements);
    if (this.isArmed || this.isClosing) return;
    this.isArmed = true;
    this.timer(
      AGAIN_MS,
      () => {
        this.isArmed = false;
        if (!this.isClosing) this.again();
      },
      true,
    );
  }

  private again(): void {
    const ended = this.now() - APART;
    for (const settlements of this.waiting.splice(0)) {
      if (settlements.every(({ receipt: { resetAt } }) => resetAt <= ended)) continue;
      if (!this.isClosing && !this.settings.isAvailable(settlements[0]!.receipt.key)) this.keep(settlements);
      else {
        const keepRefused = this.keepingRefused(settlements);
        this.send(settlements, keepRefused, nothing).late = keepRefused;
      }
    }
  }
}

const nothing = (): void => undefined;

/** Redis answers in real time, whatever a test makes of the timers. */
const realTimer: Timer = (ms, task) => {
  const timer = unheld(setTimeout(task, ms));
  return () => clearTimeout(timer);
};

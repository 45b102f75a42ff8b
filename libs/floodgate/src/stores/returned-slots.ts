import { CLOSE_PATIENCE_MS } from './loop-timer.js';
import type { ChargeReceipt } from './receipt.js';
import type { ChargeSettlement, SettledCharge } from './store.js';
import type { Timer } from './timer.js';
import type { Answer } from '../util/answer.js';
import { setTimeout } from '../util/real-timers.js';
import { unawaited } from '../util/unawaited.js';

/** The most slots of left clients that wait for their return, of all queues together. */
const MAX_SLOTS = 10_000;
/** Milliseconds after which slots are tried again that stand before slots of others. */
const AGAIN_MS = 100;
/** About how many queues it tries in a millisecond: others use the store, too. */
const TRIES_A_MS = 20;
/** The most slots that are tried at once. */
const MOST = 256;
const MICROSECONDS = 1000;

/** A slot whose client has left. */
interface LeftSlot {
  readonly receipt: ChargeReceipt;
  /** When it has passed: milliseconds of this process's clock. */
  readonly passesAtMs: number;
  readonly returned: ((keys: readonly string[]) => void) | undefined;
}

/**
 * The departure slots of clients that left before their turn. A queue can only take back its last slot. So the others wait here
 * until what stands behind them has been taken back, or until they pass.
 */
export class ReturnedSlots {
  /** The slots of each queue, in their order. */
  private readonly left = new Map<string, LeftSlot[]>();
  /** The queues whose slots are tried now. */
  private readonly active = new Map<string, Promise<void>>();
  private size = 0;
  /** How many slots of a queue are tried first: if one is not the last, those before it are not either. */
  private first = 1;
  private isArmed = false;

  /** @param refund takes a slot back, and says whether it was the last one; rejects where that is not known */
  constructor(
    private readonly refund: (receipt: ChargeReceipt) => Answer<boolean>,
    private readonly timer: Timer,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Takes back a slot as soon as it is the last one of its queue. Resolves once it was tried, and never rejects.
   *
   * @param returned is told its key once the slot has come back, or may have
   */
  add(receipt: ChargeReceipt, returned?: (keys: readonly string[]) => void): Promise<void> {
    if (this.size >= MAX_SLOTS) return Promise.resolve();
    const { key, at, resetAt } = receipt;
    const slot = { receipt, passesAtMs: this.nowMs() + (resetAt - at) / MICROSECONDS, returned };
    const slots = this.left.get(key);
    this.size++;
    if (slots === undefined) this.left.set(key, [slot]);
    else {
      let i = slots.length;
      while (i > 0 && slots[i - 1]!.receipt.resetAt > resetAt) i--;
      slots.splice(i, 0, slot);
    }
    return this.begin(key);
  }

  /**
   * Keeps the slots that a settlement would have taken back, if they had been the last ones.
   *
   * @param returned see `add`
   */
  addRefused(
    settlements: readonly ChargeSettlement[],
    settled: readonly (SettledCharge | undefined)[],
    returned?: (keys: readonly string[]) => void,
  ): void {
    for (const [i, { receipt, finalCost }] of settlements.entries()) {
      const isRefused = receipt.algorithm.delays && finalCost === 0 && settled[i]?.refunded === 0;
      if (isRefused) unawaited(this.add(receipt, returned));
    }
  }

  /** Tries many slots at once from now on: a process that ends has no time for one round after the other. */
  hurry(): void {
    this.first = MOST;
    this.tryAll();
  }

  /** Resolves once none waits, or after half a second: slots of other processes, which may end as well, stand behind the others. */
  async emptied(): Promise<void> {
    this.hurry();
    for (const end = performance.now() + CLOSE_PATIENCE_MS; this.size > 0 && performance.now() < end; this.tryAll()) {
      const pauseMs = Math.max(1, this.left.size / TRIES_A_MS);
      await new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
      this.first = 1; // those that were tried at once have their answer
    }
  }

  private tryAll(): void {
    for (const key of this.left.keys()) unawaited(this.begin(key));
  }

  private begin(key: string): Promise<void> {
    let active = this.active.get(key);
    if (active === undefined) this.active.set(key, (active = this.takeBack(key)));
    return active;
  }

  private async takeBack(key: string): Promise<void> {
    await Promise.resolve(); // those that leave in one callback are tried together, the last one first
    const slots = this.left.get(key)!;
    let count = this.first;
    while (slots.length > 0) {
      const tried = slots.splice(-count).toReversed();
      const results = await Promise.allSettled(tried.map(async ({ receipt }) => this.refund(receipt)));
      const kept = tried.filter(({ returned }, i) => {
        const result = results[i]!;
        if (result.status === 'fulfilled' && !result.value) return true;
        returned?.([key]); // or perhaps: where it is not known what became of a refund, it is not sent again
        return false;
      });
      for (const slot of kept.toReversed()) slots.push(slot);
      slots.sort((one, other) => one.receipt.resetAt - other.receipt.resetAt); // others have left meanwhile
      this.size -= tried.length - kept.length;
      const refused = kept[0];
      // Another one may have left meanwhile, from behind it.
      if (refused !== undefined && refused === slots.at(-1)) break;
      count = refused === undefined ? Math.min(MOST, 2 * count) : this.first;
    }
    this.active.delete(key);
    this.drop(key, slots);
    if (!this.isArmed && this.size > 0) this.arm();
  }

  /** Forgets the slots that have passed. */
  private drop(key: string, slots: LeftSlot[]): void {
    const now = this.nowMs();
    const passed = slots.findLastIndex(({ passesAtMs }) => passesAtMs <= now) + 1;
    slots.splice(0, passed);
    this.size -= passed;
    if (slots.length === 0) this.left.delete(key);
  }

  private arm(): void {
    this.isArmed = true;
    this.timer(
      AGAIN_MS,
      () => {
        this.isArmed = false;
        this.tryAll();
      },
      true,
    );
  }
}

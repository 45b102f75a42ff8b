import type { ChargeReceipt } from './receipt.js';
import type { Timer } from './timer.js';
import type { Answer } from '../util/answer.js';
import { setImmediate } from '../util/real-timers.js';
import { unawaited } from '../util/unawaited.js';

/** The most slots of left clients that wait for their return, of all queues together. */
const MAX_SLOTS = 10_000;
/** Milliseconds after which slots are tried again that stand before slots of others. */
const AGAIN_MS = 100;
/** The most slots that are tried at once. */
const MOST = 256;
const MICROSECONDS = 1000;

/** A slot whose client has left. */
interface LeftSlot {
  readonly receipt: ChargeReceipt;
  /** When it has passed: milliseconds of this process's clock. */
  readonly passesAtMs: number;
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
  private isArmed = false;

  /** @param refund takes a slot back, and says whether it was the last one; rejects where that is not known */
  constructor(
    private readonly refund: (receipt: ChargeReceipt) => Answer<boolean>,
    private readonly timer: Timer,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Takes back a slot as soon as it is the last one of its queue. Never throws. */
  add(receipt: ChargeReceipt): void {
    if (this.size >= MAX_SLOTS) return;
    const { key, at, resetAt } = receipt;
    const slot = { receipt, passesAtMs: this.nowMs() + (resetAt - at) / MICROSECONDS };
    const slots = this.left.get(key);
    this.size++;
    if (slots === undefined) this.left.set(key, [slot]);
    else {
      let i = slots.length;
      while (i > 0 && slots[i - 1]!.receipt.resetAt > resetAt) i--;
      slots.splice(i, 0, slot);
    }
    this.begin(key);
  }

  /** Resolves once all that can come back now has come back, also of the requests that leave in this turn of the event loop. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    await Promise.all(this.active.values());
  }

  private begin(key: string): void {
    if (this.active.has(key)) return;
    const taken = this.takeBack(key);
    this.active.set(key, taken);
    unawaited(taken);
  }

  private async takeBack(key: string): Promise<void> {
    await Promise.resolve(); // those that leave in one callback are tried together, the last one first
    const slots = this.left.get(key)!;
    for (let [count, isLast] = [1, true]; isLast && slots.length > 0; count = Math.min(MOST, 2 * count)) {
      const tried = slots.splice(-count).toReversed();
      const results = await Promise.allSettled(tried.map(async ({ receipt }) => this.refund(receipt)));
      // Where it is not known what became of a refund, it is not sent again.
      const kept = tried.filter(
        (_, i) => results[i]!.status === 'fulfilled' && !(results[i] as { value: boolean }).value,
      );
      for (const slot of kept.toReversed()) slots.push(slot);
      slots.sort((one, other) => one.receipt.resetAt - other.receipt.resetAt); // others have left meanwhile
      this.size -= tried.length - kept.length;
      isLast = kept.length === 0;
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
        for (const key of this.left.keys()) this.begin(key);
      },
      true,
    );
  }
}

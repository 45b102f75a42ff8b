import { processTimer, type Timer } from '../../stores/timer.js';

/** What waits for an instant. */
export interface Due {
  /** Milliseconds of the queue's clock. */
  readonly dueAtMs: number;
  /** Called once, at that instant or later. */
  expire(): void;
}

/** The most entries: about 100 MB of open reservations. */
const MAX_WAITING = 100_000;

/** Runs each entry at its instant, with one timer for all of them that does not keep the process alive. */
export class DueQueue {
  /** The entries in the order of their instants. Entries that wait equally long are appended. */
  private readonly waiting: Due[] = [];
  /** The entry that the timer waits for; undefined while there is no timer. */
  private armedFor: Due | undefined;
  private cancel: (() => void) | undefined;

  /**
   * @param timer the store's own if the store has a clock of its own
   * @param nowMs the timer's clock
   * @param most entries
   */
  constructor(
    private readonly timer: Timer = processTimer,
    readonly nowMs: () => number = () => performance.now(),
    readonly most = MAX_WAITING,
  ) {}

  get size(): number {
    return this.waiting.length;
  }

  get isFull(): boolean {
    return this.waiting.length >= this.most;
  }

  /** Milliseconds until the first entry runs; 0 without one. */
  get firstInMs(): number {
    const [first] = this.waiting;
    return first === undefined ? 0 : Math.max(0, first.dueAtMs - this.nowMs());
  }

  /** @returns whether there was room: an entry beyond the most never runs */
  add(due: Due): boolean {
    if (this.isFull) return false;
    this.waiting.splice(this.placeAfter(due.dueAtMs), 0, due);
    if (this.waiting[0] === due) this.arm();
    return true;
  }

  /** Removes an entry that has not run. */
  remove(due: Due): void {
    let i = this.placeAfter(due.dueAtMs) - 1;
    while (i >= 0 && this.waiting[i] !== due && this.waiting[i]!.dueAtMs === due.dueAtMs) i--;
    if (this.waiting[i] !== due) return;
    this.waiting.splice(i, 1);
    if (i === 0) this.arm();
  }

  /** Forgets all entries. */
  clear(): void {
    this.waiting.length = 0;
    this.arm();
  }

  private arm(): void {
    this.cancel?.();
    const next = (this.armedFor = this.waiting[0]);
    if (next === undefined) this.cancel = undefined;
    else this.cancel = this.timer(Math.max(0, next.dueAtMs - this.nowMs()), () => this.run(), true);
  }

  private run(): void {
    this.cancel = undefined;
    const now = this.nowMs();
    // The clock may have stepped back, or be another one than the timer's: the timer has waited for this entry all the same.
    let count = this.waiting[0] === this.armedFor ? 1 : 0;
    while (count < this.waiting.length && this.waiting[count]!.dueAtMs <= now) count++;
    const due = this.waiting.splice(0, count);
    this.arm();
    for (const one of due) one.expire();
  }

  /** The place behind all entries that are due at this instant or before. */
  private placeAfter(dueAtMs: number): number {
    let [low, high] = [0, this.waiting.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.waiting[middle]!.dueAtMs <= dueAtMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

import type { Receipt } from '../charges/judgement.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import type { HeldLease } from '../holds/leases/leases.js';
import type { Timer } from '../stores/timer.js';
import { onAbort } from '../util/abort-watch.js';

/** How a call waits. */
export interface Waits {
  readonly signal: AbortSignal | undefined;
  /** The instant at which it gives up, by the queue's clock; Infinity: never. */
  readonly deadline: number;
  readonly maxWaitMs: number;
}

/** What a call was charged, and the leases that it holds. */
export interface Turn {
  readonly receipts: readonly Receipt[];
  readonly leases: readonly HeldLease[];
}

/** One call that waits for its turn. It is settled once. */
export class ScheduledCall {
  /** What it was charged, once it may run. */
  readonly turn: Promise<Turn>;
  /** Whether it got its turn or left: whatever the store answers from now on is refunded. */
  isOver = false;
  /** What the call is charged while it waits for its departure slot. */
  departing: Turn | undefined;
  /** Whether it had to wait for its turn. */
  hasWaited = false;
  /** The last failure of the limiter, for the error of a call that waits in vain. */
  cause: unknown;
  private resolve!: (turn: Turn) => void;
  private reject!: (error: unknown) => void;
  private readonly cancels: (() => void)[] = [];

  /**
   * @param order calls are served in it
   * @param ended is told how it ends: with its turn, or with an error
   */
  constructor(
    readonly charges: readonly PolicyCharge[],
    readonly order: number,
    readonly waits: Waits,
    private readonly ended: (call: ScheduledCall, left: { readonly error: unknown } | undefined) => void,
  ) {
    this.turn = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Leaves when the signal is aborted. */
  watch(): void {
    const { signal } = this.waits;
    if (signal === undefined) return;
    this.cancels.push(onAbort(signal, () => this.leave(signal.reason)));
  }

  /** Runs a task after some milliseconds, unless the call is over before. */
  after(timer: Timer, ms: number, task: () => void): void {
    if (ms !== Infinity) this.cancels.push(timer(ms, task));
  }

  pass(turn: Turn): void {
    if (this.end(undefined)) this.resolve(turn);
  }

  leave(error: unknown): void {
    if (this.end({ error })) this.reject(error);
  }

  private end(left: { readonly error: unknown } | undefined): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    for (const cancel of this.cancels.splice(0)) cancel();
    this.ended(this, left);
    return true;
  }
}

import { Logger } from '@nestjs/common';
import { type Charge, type RateLimitStore, RateLimitStoreError, type Verdict } from './store.js';

/** A request is answered within this time, whatever the store does. */
export const DEADLINE_MS = 100;
const WARNING_INTERVAL_MS = 1000;
/** Waiters with answers that may stand before the others. */
const COMPACT = 4096;

interface Waiter {
  readonly expiresAt: number;
  settled: boolean;
  readonly reject: (error: Error) => void;
}

/**
 * The one way to the store: every question gets its answer or a `RateLimitStoreError` within the deadline. What a failure
 * means for the request is decided by who asks.
 */
export class StoreGateway {
  private readonly logger = new Logger('RateLimit');
  /** In the order of their deadlines, since all have the same: one timer serves them all. */
  private waiters: (Waiter | undefined)[] = [];
  /** Where the waiters begin: those before have their answers. */
  private first = 0;
  private timer: NodeJS.Timeout | undefined;
  private warnedAt = -Infinity;
  private silenced = 0;

  constructor(
    private readonly store: RateLimitStore,
    private readonly deadlineMs = DEADLINE_MS,
  ) {}

  /** @throws {RateLimitStoreError} when the store fails or is too slow (what it charges later stays charged) */
  async consume(charges: readonly Charge[]): Promise<Verdict> {
    try {
      const answer = this.store.consume(charges);
      const verdict = 'then' in answer ? await this.withinDeadline(answer) : answer;
      if (verdict?.charges?.length !== charges.length) throw new TypeError('what it answered is not a verdict');
      return verdict;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown)); // a store of one's own may throw anything
      this.warn(error);
      if (error instanceof RateLimitStoreError) throw error;
      throw new RateLimitStoreError(`the store failed: ${error.message}`, { cause: thrown });
    }
  }

  /** Within the deadline as well; its failure is for the caller alone. */
  async reset(keys: readonly string[]): Promise<void> {
    await this.withinDeadline(Promise.resolve(this.store.reset(keys)));
  }

  private withinDeadline<T>(answer: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { expiresAt: performance.now() + this.deadlineMs, settled: false, reject };
      this.waiters.push(waiter);
      this.timer ??= this.arm(this.deadlineMs);
      void answer.then(
        (value) => {
          this.settle(waiter);
          resolve(value);
        },
        (error: unknown) => {
          this.settle(waiter);
          reject(error);
        },
      );
    });
  }

  /** Answers come mostly in order: those at the front are let go at once, so that no request's garbage grows old here. */
  private settle(waiter: Waiter): void {
    waiter.settled = true;
    const { waiters } = this;
    while (waiters[this.first]?.settled === true) waiters[this.first++] = undefined;
    if (this.first === waiters.length || this.first >= COMPACT) {
      this.waiters = waiters.slice(this.first);
      this.first = 0;
    }
  }

  /** After a stall of the event loop the answers wait to be read: two of its turns read them before anybody is given up. */
  private arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => setImmediate(() => this.expire())), ms).unref();
  }

  private expire(): void {
    const now = performance.now();
    let next = this.waiters[this.first];
    while (next !== undefined && (next.settled || next.expiresAt <= now)) {
      if (!next.settled) next.reject(new RateLimitStoreError(`the store gave no answer within ${this.deadlineMs} ms`));
      next = this.waiters[++this.first];
    }
    this.timer = next && this.arm(Math.ceil(next.expiresAt - now));
  }

  /** One a second at most; the next one says how many there were. */
  private warn(error: Error): void {
    const now = performance.now();
    if (now - this.warnedAt < WARNING_INTERVAL_MS) {
      this.silenced++;
      return;
    }
    const more = this.silenced > 0 ? ` (${this.silenced} more since the last warning)` : '';
    this.logger.warn(`The store could not decide: ${error.message}${more}`);
    this.warnedAt = now;
    this.silenced = 0;
  }
}

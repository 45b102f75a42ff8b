import { Logger } from '@nestjs/common';
import type { Deadlines } from '../stores/deadlines.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { RedisUnavailableError } from '../stores/redis/redis-failure.js';
import type { DenialCache } from './denial-cache.js';
import { isPromise } from '../util/is-promise.js';
import { RationedWarning, reasonOf } from '../util/rationed-warning.js';
import {
  type Charge,
  type RateLimitStore,
  RateLimitStoreError,
  type ChargeReceipt,
  type Verdict,
} from '../stores/store.js';

/**
 * The one way to the store: every question gets its answer, or fails within the deadline. What a failure means for the
 * request is decided by who asks.
 */
export class StoreGateway {
  private readonly failures = new RationedWarning(new Logger('RateLimit'));

  /**
   * @param keepsTime whether the store keeps the deadline by itself, for many questions at a time
   * @param denials what the store has noted there need not be asked again
   */
  constructor(
    private readonly store: RateLimitStore,
    private readonly deadlines: Deadlines,
    private readonly keepsTime: boolean,
    private readonly denials: DenialCache | undefined,
  ) {}

  /** Decisions of a full `MemoryStore` on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.store instanceof MemoryStore ? this.store.overflowed : 0;
  }

  /** What the store is certain to say, from what it said before; undefined when it has to be asked. */
  remembered(charges: readonly Charge[]): Verdict | undefined {
    return this.denials?.find(charges);
  }

  /** @throws whatever the store fails with, or that it is too slow (what it charges later stays charged) */
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    const answer = this.store.consume(charges);
    return this.keepsTime ? answer : this.checked(answer, charges.length);
  }

  /** Within the deadline as well; its failure is for the caller alone. */
  async reset(keys: readonly string[]): Promise<void> {
    try {
      await this.deadlines.within(Promise.resolve(this.store.reset(keys)));
    } finally {
      this.denials?.forget(keys); // what failed may be reset all the same
    }
  }

  /** Nobody waits for it, and what is lost stays charged. */
  refund(taken: readonly ChargeReceipt[]): void {
    const failed = (error: unknown): void => this.failures.warn(`The store gave nothing back: ${reasonOf(error)}`);
    try {
      const given = this.store.refund?.(taken);
      if (isPromise(given)) given.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** What the store failed with, as one kind of error; one warning a second at most, and the next says how many there were. */
  failure(thrown: unknown): RateLimitStoreError {
    // A store of one's own may throw anything.
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (error instanceof RedisUnavailableError) return error;
    this.failures.warn(`The store could not decide: ${error.message}`);
    if (error instanceof RateLimitStoreError) return error;
    return new RateLimitStoreError(`the store failed: ${error.message}`, { cause: thrown });
  }

  private async checked(answer: Verdict | Promise<Verdict>, charges: number): Promise<Verdict> {
    const verdict = isPromise(answer) ? await this.deadlines.within(answer) : answer;
    if (
      verdict?.charges?.length !== charges ||
      verdict.charges.some((charge) => typeof charge?.allowed !== 'boolean')
    ) {
      throw new TypeError('what it answered is not a verdict');
    }
    return verdict;
  }
}

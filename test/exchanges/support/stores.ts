import type { Redis } from 'ioredis';
import { MemoryStore, RedisStore, type RateLimitStore } from 'nestjs-floodgate';
import type { Charge, Timer, Verdict } from 'nestjs-floodgate/testing';
import { stage } from './stage.js';

/** A timer that the library has armed. */
interface Armed {
  readonly task: () => void;
  readonly isUpkeep: boolean;
}

/** The timers of leases and of requests that wait. They fire when a test says so. */
export class Timers {
  private readonly armed = new Set<Armed>();

  readonly timer: Timer = (_, task, isUpkeep = false) => {
    const one: Armed = { task, isUpkeep };
    this.armed.add(one);
    return () => void this.armed.delete(one);
  };

  get size(): number {
    return this.armed.size;
  }

  /** Fires those that renew leases, as their time would. */
  upkeep(): void {
    // A task may arm its timer again, which then is for the next time.
    const due = [...this.armed].filter(({ isUpkeep }) => isUpkeep);
    for (const one of due) {
      if (this.armed.delete(one)) one.task();
    }
  }
}

export interface TimedStore extends RateLimitStore {
  readonly timers: Timers;
}

class TimedMemory extends MemoryStore implements TimedStore {
  readonly timers = new Timers();
  readonly timer = this.timers.timer;
}

/** The answer to a charge waits at a gate, while its charge is made. A renewal or a peek does not wait. */
function held(charges: readonly Charge[], verdict: Verdict | Promise<Verdict>): Verdict | Promise<Verdict> {
  if (charges.every(({ cost }) => cost === 0)) return verdict;
  const passed = stage.gates.store.pass(undefined);
  return passed === undefined ? verdict : passed.then(() => verdict);
}

class GatedMemory implements TimedStore {
  readonly timers = new Timers();
  readonly timer = this.timers.timer;
  private readonly inner = new MemoryStore();
  readonly supports = this.inner.supports;

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    return held(charges, this.inner.consume(charges));
  }

  reset: RateLimitStore['reset'] = (keys) => this.inner.reset(keys);
  refund: NonNullable<RateLimitStore['refund']> = (receipts) => this.inner.refund(receipts);
  settle: NonNullable<RateLimitStore['settle']> = (settlements) => this.inner.settle(settlements);
}

class TimedRedis extends RedisStore implements TimedStore {
  readonly timers = new Timers();
  readonly timer = this.timers.timer;

  override consume(charges: readonly Charge[]): Promise<Verdict> {
    return Promise.resolve(held(charges, super.consume(charges)));
  }
}

export type StoreKind = 'memory' | 'Redis';

/**
 * @param client of Redis; undefined: a store in memory
 * @param isGated whether a test holds the store's answers: `MemoryStore` as it is would answer at once
 */
export function storeOf(client: Redis | undefined, isGated: boolean): TimedStore {
  if (client !== undefined) return new TimedRedis(client);
  return isGated ? new GatedMemory() : new TimedMemory();
}

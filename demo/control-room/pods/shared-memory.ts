import { MemoryStore, type RateLimitStore, RateLimitStoreError } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';

/** The store that the pods of one process share where there is no Redis. It can be away, as a Redis can. */
export class SharedMemory implements RateLimitStore {
  isUp = true;
  readonly supports: RateLimitStore['supports'];
  private store = new MemoryStore();

  constructor() {
    this.supports = this.store.supports;
  }

  /** @throws RateLimitStoreError while it is away: the library's fallback decides then */
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    this.assertUp();
    return this.store.consume(charges);
  }

  /** @throws RateLimitStoreError while it is away */
  reset(keys: readonly string[]): number | void | Promise<number | void> {
    this.assertUp();
    return this.store.reset(keys);
  }

  /** Turns the store off or on. It comes back empty, like a Redis that was killed and keeps nothing on disk. */
  turn(isUp: boolean): void {
    if (isUp && !this.isUp) this.store = new MemoryStore();
    this.isUp = isUp;
  }

  private assertUp(): void {
    if (!this.isUp) throw new RateLimitStoreError('the shared store is away');
  }
}

import { MemoryStore, type MemoryStoreOptions } from '../stores/memory/memory.store.js';
import type { Timer } from '../stores/timer.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { VirtualClock } from './virtual-clock.js';

/**
 * A `MemoryStore` on a virtual clock. It decides as `RedisStore` does at the same instants, and delayed requests pass as the
 * clock advances.
 *
 * @throws {RateLimitConfigError} when it gets no `VirtualClock`
 * @throws {RateLimitConfigError} when an option is out of its range
 * @throws {RateLimitConfigError} for an option that is not known
 * @example store: new VirtualStore(clock)
 */
export class VirtualStore extends MemoryStore {
  readonly timer: Timer;

  /** @param options those of `MemoryStore`, without `clock` */
  constructor(
    readonly virtualClock: VirtualClock,
    options: Omit<MemoryStoreOptions, 'clock'> = {},
  ) {
    if (!(virtualClock instanceof VirtualClock)) {
      throw new RateLimitConfigError('VirtualStore', `clock must be a VirtualClock, got ${shown(virtualClock)}`);
    }
    super({ ...options, clock: virtualClock.read });
    this.timer = virtualClock.timer;
  }
}

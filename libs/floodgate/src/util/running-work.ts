import { adopted, isPromise } from './is-promise.js';
import { setImmediate } from './real-timers.js';

/** Work that its caller need not await, and that a shutdown waits for. */
export class RunningWork {
  private readonly running = new Set<PromiseLike<unknown>>();

  /** Returns what it was given. What fails counts as ended. */
  track<T>(work: T): T {
    if (!isPromise(work)) return work;
    const forget = (): unknown => this.running.delete(work);
    this.running.add(work);
    adopted(work).then(forget, forget);
    return work;
  }

  /** Resolves once nothing runs, also of what it leads to. */
  async ended(): Promise<void> {
    for (;;) {
      await consequences();
      if (this.running.size === 0) return;
      await Promise.allSettled(this.running);
    }
  }
}

/** Resolves once what has just ended has begun what it leads to: some of it waits for the end of a turn of the event loop. */
export async function consequences(): Promise<void> {
  for (let turns = 0; turns < 2; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
}

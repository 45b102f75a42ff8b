import { adopted, isPromise } from './is-promise.js';

/** Work that nobody may await, and that a shutdown waits for. */
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

  /** Resolves once nothing runs, also of what begins meanwhile. */
  async ended(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }
}

import type { MatchingStatistics } from './matching-statistics.js';
import { MatchingUnavailableError, type Unavailability } from './matching.js';
import { PoolMeter } from './pool-meter.js';

export interface WorkerPoolOptions {
  readonly workers: number;
  /** Jobs that may wait for a worker. */
  readonly queue: number;
  /** The longest that one of them waits. */
  readonly patienceMs: number;
}

interface Waiter {
  admit(): void;
  refuse(reason: Unavailability): void;
}

/** Runs at most so many jobs at a time. The next ones queue, first come first served; beyond that they are rejected. */
export class WorkerPool {
  /** In order of arrival; a set, so that one who loses patience leaves from the middle at no cost. */
  private readonly waiting = new Set<Waiter>();
  private readonly meter: PoolMeter;
  private busy = 0;
  private idle?: () => void;
  private closed = false;

  constructor(private readonly options: WorkerPoolOptions) {
    this.meter = new PoolMeter(options.workers);
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    const askedAt = performance.now();
    this.meter.asked();
    try {
      await this.takeWorker();
    } catch (error) {
      this.meter.rejected();
      throw error;
    }
    this.meter.began(performance.now() - askedAt);
    try {
      return await job();
    } finally {
      this.returnWorker();
    }
  }

  /** Refuses those who wait and all who come later, and resolves when the running jobs are done. */
  async close(): Promise<void> {
    this.closed = true;
    for (const waiter of this.waiting) waiter.refuse('shutting down');
    if (this.busy > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  statistics(): MatchingStatistics {
    const { workers, queue } = this.options;
    return { workers, busy: this.busy, waiting: this.waiting.size, queue, ...this.meter.read() };
  }

  private takeWorker(): Promise<void> | void {
    const { workers, queue, patienceMs } = this.options;
    if (this.closed) throw new MatchingUnavailableError('shutting down');
    if (this.busy < workers) {
      this.setBusy(this.busy + 1);
      return;
    }
    if (this.waiting.size >= queue) throw new MatchingUnavailableError('queue full');
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(patience);
        this.waiting.delete(waiter);
      };
      const waiter: Waiter = {
        admit: () => (leave(), resolve()),
        refuse: (reason) => (leave(), reject(new MatchingUnavailableError(reason))),
      };
      const patience = setTimeout(() => waiter.refuse('waited too long'), patienceMs);
      this.waiting.add(waiter);
    });
  }

  /** The worker goes to the next in line without becoming free, so that nobody who arrives right now overtakes. */
  private returnWorker(): void {
    const [next] = this.waiting;
    if (next) return next.admit();
    this.setBusy(this.busy - 1);
    if (this.busy === 0) this.idle?.();
  }

  private setBusy(busy: number): void {
    this.busy = busy;
    this.meter.busy(busy);
  }
}

import type { MatchingStatistics } from './matching-statistics.js';
import { MatchingUnavailableError, type Unavailability } from './matching.js';
import { PoolMeter } from './pool-meter.js';

export interface WorkerPoolOptions {
  readonly workers: number;
  /** Jobs that may wait for a worker. */
  readonly queue: number;
  /** The longest that a job waits. */
  readonly patienceMs: number;
}

interface PendingJob {
  admit(): void;
  reject(reason: Unavailability): void;
}

/** Runs a limited number of jobs at a time. Further jobs wait in order of arrival. Beyond that the pool rejects them. */
export class WorkerPool {
  /** In order of arrival. A set, since a job that has waited too long leaves from the middle. */
  private readonly waiting = new Set<PendingJob>();
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

  /** Rejects waiting and later jobs. Resolves when the running jobs are done. */
  async close(): Promise<void> {
    this.closed = true;
    for (const job of this.waiting) job.reject('shutting down');
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
        this.waiting.delete(job);
      };
      const job: PendingJob = {
        admit: () => (leave(), resolve()),
        reject: (reason) => (leave(), reject(new MatchingUnavailableError(reason))),
      };
      const patience = setTimeout(() => job.reject('waited too long'), patienceMs);
      this.waiting.add(job);
    });
  }

  /** Gives the worker to the next job. It is never free in between, so no new job can overtake. */
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

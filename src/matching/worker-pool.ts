import { LinkedQueue } from '../collections/linked-queue.js';
import type { MatchingStatistics } from './matching-statistics.js';
import { MatchingUnavailableError } from './matching.js';
import { PoolMeter } from './pool-meter.js';

export interface WorkerPoolOptions {
  readonly workers: number;
  /** Jobs that may wait for a worker. */
  readonly queue: number;
  /** The longest that a job waits. */
  readonly patienceMs: number;
  /** Whether a long queue serves the newest job first, and a full one gives up on the oldest. */
  readonly newestFirst: boolean;
  /** The time that a job takes. It says how long a queue is in time. */
  readonly serviceMs: number;
}

interface PendingJob {
  admit(): void;
  reject(reason: unknown): void;
}

/**
 * With `newestFirst`, a queue is short while the workers serve all of it in this time: as long as a burst of the limit before
 * matching takes. Otherwise the first of a burst would wait until the whole burst is served.
 */
const SHORT_MS = 400;

/**
 * Runs a limited number of jobs at a time. Further jobs wait in order of arrival, and leave the queue
 * - when a worker is free;
 * - when their client leaves: they reject with the reason of their signal;
 * - when they have waited for `patienceMs`: 'waited too long'.
 * A job that finds the queue full rejects with 'queue full'.
 *
 * Order of arrival keeps a long queue long: workers spend their time on jobs whose clients have given up, also long after the demand
 * has fallen. With `newestFirst` a long queue serves the newest job first, which has most of its patience left, and a full one
 * rejects the oldest in place of the newest.
 *
 * Source of `newestFirst`: B. Maurer, "Fail at Scale" (adaptive LIFO), ACM Queue 13(8), 2015, https://queue.acm.org/detail.cfm?id=2839461
 */
export class WorkerPool {
  private readonly waiting = new LinkedQueue<PendingJob>();
  private readonly meter: PoolMeter;
  /** The most waiting jobs of a queue that serves the oldest first. */
  private readonly inOrder: number;
  private busy = 0;
  private idle?: () => void;
  private closed = false;

  constructor(private readonly options: WorkerPoolOptions) {
    this.meter = new PoolMeter(options.workers);
    const { newestFirst, workers, serviceMs } = options;
    this.inOrder = newestFirst ? (workers * SHORT_MS) / serviceMs : Infinity; // Infinity, too, if a job takes no time
  }

  /**
   * Runs the job when a worker is free. A job that has begun ends, whatever its client does.
   *
   * @param gone aborted when the job's client has left
   * @throws MatchingUnavailableError, or the reason of `gone`
   */
  async run<T>(job: () => Promise<T>, gone?: AbortSignal): Promise<T> {
    const askedAt = performance.now();
    this.meter.asked();
    try {
      await this.takeWorker(gone);
    } catch (error) {
      if (error instanceof MatchingUnavailableError) this.meter.rejected();
      else this.meter.abandoned();
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
    for (let job = this.waiting.oldest; job !== undefined; job = this.waiting.oldest) {
      job.reject(new MatchingUnavailableError('shutting down'));
    }
    if (this.busy > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  statistics(): MatchingStatistics {
    const { workers, queue } = this.options;
    return { workers, busy: this.busy, waiting: this.waiting.size, queue, ...this.meter.read() };
  }

  private takeWorker(gone: AbortSignal | undefined): Promise<void> | void {
    const { workers, queue, newestFirst } = this.options;
    gone?.throwIfAborted();
    if (this.closed) throw new MatchingUnavailableError('shutting down');
    if (this.busy < workers) {
      this.setBusy(this.busy + 1);
      return;
    }
    if (this.waiting.size >= queue) {
      const full = new MatchingUnavailableError('queue full');
      if (queue === 0 || !newestFirst) throw full;
      this.waiting.oldest!.reject(full);
    }
    return this.wait(gone);
  }

  private wait(gone: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(patience);
        gone?.removeEventListener('abort', abandon);
        this.waiting.remove(place);
      };
      const job: PendingJob = {
        admit: () => (leave(), resolve()),
        reject: (reason) => (leave(), reject(reason)),
      };
      const abandon = (): void => job.reject(gone?.reason);
      const patience = setTimeout(
        () => job.reject(new MatchingUnavailableError('waited too long')),
        this.options.patienceMs,
      );
      gone?.addEventListener('abort', abandon, { once: true });
      const place = this.waiting.add(job);
    });
  }

  /** Gives the worker to the next job. It is never free in between, so no new job can overtake. */
  private returnWorker(): void {
    const { oldest, newest, size } = this.waiting;
    const next = size > this.inOrder ? newest : oldest;
    if (next !== undefined) return next.admit();
    this.setBusy(this.busy - 1);
    if (this.busy === 0) this.idle?.();
  }

  private setBusy(busy: number): void {
    this.busy = busy;
    this.meter.busy(busy);
  }
}

import { BusyException } from './busy.js';

export interface SendQueueOptions {
  /** Sends that run at the same time. */
  readonly running: number;
  /** Sends that may wait. */
  readonly waiting: number;
  /** Sends of one peer that may run or wait. */
  readonly perPeer: number;
  /** The longest that a send may take. */
  readonly timeoutMs: number;
}

const RETRY_AFTER_S = 1;

/** Runs a few jobs at a time, each of which sends many requests. Further ones wait in order of arrival. Beyond that the queue rejects them. */
export class SendQueue {
  private readonly waiting = new Set<() => void>();
  private readonly peers = new Map<string, number>();
  private running = 0;

  constructor(private readonly options: SendQueueOptions) {}

  /**
   * @param gone aborted when the client leaves: the send stops, or leaves the queue
   * @param job gets a signal that `gone` or the timeout aborts
   * @throws BusyException when too many sends run and wait, or when this one takes too long; the reason of `gone`
   */
  async run<T>(peer: string, gone: AbortSignal, job: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { perPeer, timeoutMs } = this.options;
    const own = this.peers.get(peer) ?? 0;
    if (own >= perPeer) throw busy(429, `at most ${perPeer} sends of one address can run or wait; try again later`);
    this.peers.set(peer, own + 1);
    try {
      await this.begin(gone);
      const tooLong = AbortSignal.timeout(timeoutMs);
      try {
        return await job(AbortSignal.any([gone, tooLong]));
      } catch (error) {
        gone.throwIfAborted();
        throw tooLong.aborted
          ? busy(503, `the send took longer than ${timeoutMs / 1000} s and was stopped; try again later`)
          : error;
      } finally {
        this.next();
      }
    } finally {
      const left = this.peers.get(peer)! - 1;
      if (left === 0) this.peers.delete(peer);
      else this.peers.set(peer, left);
    }
  }

  private begin(gone: AbortSignal): Promise<void> | void {
    const { running, waiting } = this.options;
    gone.throwIfAborted();
    if (this.running < running) {
      this.running++;
      return;
    }
    if (this.waiting.size >= waiting) throw busy(503, `at most ${waiting} sends can wait; try again later`);
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        leave();
        resolve();
      };
      const abandon = (): void => {
        leave();
        reject(gone.reason as Error);
      };
      const leave = (): void => {
        this.waiting.delete(admit);
        gone.removeEventListener('abort', abandon);
      };
      this.waiting.add(admit);
      gone.addEventListener('abort', abandon);
    });
  }

  /** Gives the place to the next send. It is never free in between, so no new send can take it. */
  private next(): void {
    const [admit] = this.waiting;
    if (admit === undefined) this.running--;
    else admit();
  }
}

function busy(status: 429 | 503, message: string): BusyException {
  return new BusyException({ status, error: 'too_many_sends', message, retryAfter: RETRY_AFTER_S });
}

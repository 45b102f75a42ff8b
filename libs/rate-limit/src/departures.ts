import { RateLimitUnavailableException } from './http/exceptions.js';

interface Waiter {
  timer: NodeJS.Timeout;
  readonly reject: (error: Error) => void;
}

/** setTimeout takes no more; a longer wait is armed again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The requests that wait for their departure slots. */
export class Departures {
  private readonly waiting = new Set<Waiter>();
  private closed = false;

  /** How many wait. */
  get size(): number {
    return this.waiting.size;
  }

  /**
   * Waits until `delayMs` after now and never less: timers fire early by up to a millisecond, so the clock is read again
   * when one does. The timers do not keep a process alive.
   *
   * @throws {RateLimitUnavailableException} once `close` was called
   */
  async wait(delayMs: number): Promise<void> {
    if (delayMs <= 0) return;
    const departsAt = performance.now() + delayMs;
    if (this.closed) throw closing();
    await new Promise<void>((resolve, reject) => {
      const arm = (ms: number): NodeJS.Timeout => setTimeout(check, Math.min(Math.ceil(ms), MAX_TIMER_MS)).unref();
      const check = (): void => {
        const left = departsAt - performance.now();
        if (left > 0) {
          waiter.timer = arm(left);
          return;
        }
        this.waiting.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { timer: arm(delayMs), reject };
      this.waiting.add(waiter);
    });
  }

  /** Refuses those who wait, and everybody after them. */
  close(): void {
    this.closed = true;
    for (const { timer, reject } of this.waiting) {
      clearTimeout(timer);
      reject(closing());
    }
    this.waiting.clear();
  }
}

function closing(): RateLimitUnavailableException {
  return new RateLimitUnavailableException('The server is shutting down');
}

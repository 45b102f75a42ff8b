import { RateLimitUnavailableException } from '../nest/exceptions.js';

/** What a waiting request can be left by: a connection or a response, of which only this is needed. */
export interface Closable {
  readonly destroyed?: boolean;
  /** Of a response that was sent without waiting for the guard, by a timeout, say. */
  readonly writableEnded?: boolean;
  on(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

interface Waiter {
  timer: NodeJS.Timeout;
  readonly leave: (error: Error) => void;
}

/** Those who wait on one thing that can close, and the one listener that it has for all of them. */
interface Watch {
  readonly waiters: Set<Waiter>;
  readonly closed: () => void;
}

/** How many may wait. */
export interface WaitingRoomLimits {
  /** Requests at a time, in the process. */
  readonly maxWaiting: number;
  /** And of one client. */
  readonly maxWaitingPerClient: number;
}

/** setTimeout takes no more; a longer wait is armed again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The requests that wait for their departure slots, and the places for those that may have to. */
export class WaitingRoom {
  private readonly waiting = new Set<Waiter>();
  private readonly watches = new WeakMap<Closable, Watch>();
  private readonly perClient = new Map<string, number>();
  private taken = 0;
  private closed = false;

  constructor(private readonly room: WaitingRoomLimits) {}

  /** How many wait. */
  get size(): number {
    return this.waiting.size;
  }

  /** How many places are taken: by those who wait, and by those whose decision is still to come. */
  get places(): number {
    return this.taken;
  }

  /**
   * Takes a place, before the store is asked: whoever finds none is refused here, and nothing was charged for it.
   * `giveUp` has to be called once for every place.
   *
   * @param client whose place it is; undefined where a policy counts everybody together
   * @throws {RateLimitUnavailableException} when the process, or the client, has no more of them, or once `close` was called
   */
  take(client: string | undefined): void {
    if (this.closed) throw closing();
    const held = client === undefined ? 0 : (this.perClient.get(client) ?? 0);
    if (this.taken >= this.room.maxWaiting || held >= this.room.maxWaitingPerClient) {
      throw new RateLimitUnavailableException('Too many requests are waiting');
    }
    this.taken++;
    if (client !== undefined) this.perClient.set(client, held + 1);
  }

  /** Gives up a place that was taken for `client`. */
  giveUp(client: string | undefined): void {
    this.taken--;
    if (client === undefined) return;
    const held = this.perClient.get(client)!;
    if (held === 1) this.perClient.delete(client);
    else this.perClient.set(client, held - 1);
  }

  /**
   * Waits until `delayMs` after now and never less: timers fire early by up to a millisecond, so the clock is read again
   * when one does. The timers do not keep a process alive.
   *
   * @param leftBy what closes when nobody waits for the answer any more
   * @throws {RateLimitUnavailableException} once `close` was called, or one of `leftBy` has closed
   */
  async wait(delayMs: number, leftBy: readonly Closable[] = []): Promise<void> {
    if (delayMs <= 0) return;
    const departsAt = performance.now() + delayMs;
    if (this.closed) throw closing();
    if (leftBy.some(({ destroyed, writableEnded }) => destroyed === true || writableEnded === true)) throw gone();
    await new Promise<void>((resolve, reject) => {
      const arm = (ms: number): NodeJS.Timeout => setTimeout(check, Math.min(Math.ceil(ms), MAX_TIMER_MS)).unref();
      const check = (): void => {
        const left = departsAt - performance.now();
        if (left > 0) {
          waiter.timer = arm(left);
          return;
        }
        this.forget(waiter, leftBy);
        resolve();
      };
      const leave = (error: Error): void => {
        clearTimeout(waiter.timer);
        this.forget(waiter, leftBy);
        reject(error);
      };
      const waiter: Waiter = { timer: arm(delayMs), leave };
      this.waiting.add(waiter);
      for (const closable of leftBy) this.watch(closable, waiter);
    });
  }

  /** Refuses those who wait, and everybody after them. */
  close(): void {
    this.closed = true;
    for (const { leave } of this.waiting) leave(closing());
  }

  /** One listener for all who wait on it: a connection can bring any number of requests at once. */
  private watch(closable: Closable, waiter: Waiter): void {
    let watch = this.watches.get(closable);
    if (watch === undefined) {
      const waiters = new Set<Waiter>();
      watch = { waiters, closed: () => waiters.forEach(({ leave }) => leave(gone())) };
      this.watches.set(closable, watch);
      closable.on('close', watch.closed);
    }
    watch.waiters.add(waiter);
  }

  private forget(waiter: Waiter, leftBy: readonly Closable[]): void {
    this.waiting.delete(waiter);
    for (const closable of leftBy) {
      const watch = this.watches.get(closable)!;
      watch.waiters.delete(waiter);
      if (watch.waiters.size > 0) continue;
      closable.off('close', watch.closed);
      this.watches.delete(closable);
    }
  }
}

function closing(): RateLimitUnavailableException {
  return new RateLimitUnavailableException('The server is shutting down');
}

/** Nobody reads it. */
function gone(): RateLimitUnavailableException {
  return new RateLimitUnavailableException('The client has gone');
}

import { realNow, setImmediate, setTimeout } from '../util/real-timers.js';
import { isWorker } from '../util/runtime.js';
import { RateLimitStoreError } from './store.js';

/** The store gave no answer in time. */
export class StoreDeadlineError extends RateLimitStoreError {}

/** The deadline of a call to the store that waits for its answer. */
export interface PendingDeadline {
  /** The deadline: milliseconds of the monotonic clock. */
  expiresAt: number;
  /** Reports the missed deadline. Undefined once the call is answered or the deadline has passed. */
  fail: ((error: RateLimitStoreError) => void) | undefined;
  /** The neighbours in the list of pending deadlines, oldest first. */
  previous: PendingDeadline | undefined;
  next: PendingDeadline | undefined;
}

/** The time of the event loop. Tests replace it. */
export interface LoopTime {
  /** Milliseconds of a clock that never steps. */
  readonly now: () => number;
  /** Runs `task` after `ms` milliseconds. */
  readonly later: (task: () => void, ms: number) => { ref(): unknown; unref(): unknown };
  /** Runs `task` in the next check phase, after the poll phase. */
  readonly turn: (task: () => void) => void;
}

const LOOP: LoopTime = {
  now: () => realNow(),
  later: (task, ms) => setTimeout(task, ms),
  turn: (task) => void setImmediate(task),
};

/**
 * Fails calls that are not answered in time. All have the same time, so one timer serves them in their order.
 *
 * A stall of the event loop delays the timer and the reading of answers alike. So when the timer fires, two turns of the loop
 * first read the answers that are ready. Then the calls expire that were overdue when the timer fired. Calls that become
 * overdue during these turns get a timer and two turns of their own: their answers may not have been read yet.
 *
 * One poll phase reads every answer that was ready when it began: libuv takes up to 48 x 1,024 events in a phase, and
 * microtasks and ticks run after each. The second turn completes an answer that the first one read in part.
 */
export class Deadlines {
  /** The pending deadlines, as a linked list: that of an answered call leaves at once, even while older ones stay open. */
  private first: PendingDeadline | undefined;
  private last: PendingDeadline | undefined;
  /** Whether the timer, or the turns after it, are under way. */
  private armed = false;
  /** Keeps the process alive while a call waits for its answer. */
  private timer: ReturnType<LoopTime['later']> | undefined;
  /** Whether each call has a timer of its own: that of another one may end with its request. */
  private readonly perCall = isWorker();

  /** @param ms milliseconds that an answer may take */
  constructor(
    readonly ms: number,
    private readonly loop: LoopTime = LOOP,
  ) {}

  /** Begins a call. Calls `fail` unless `answered` is called in time. */
  ask(fail: (error: RateLimitStoreError) => void): PendingDeadline {
    const expiresAt = this.loop.now() + this.ms;
    const deadline: PendingDeadline = { expiresAt, fail, previous: undefined, next: undefined };
    if (!this.armed || this.perCall) this.arm(this.ms);
    else if (this.first === undefined) this.timer?.ref();
    this.append(deadline);
    return deadline;
  }

  /**
   * The answer, or a rejection when there is none in time.
   *
   * @param late gets an answer that comes after the deadline; default: it is dropped
   * @param missed the rejection; default that of a store
   */
  within<T>(
    answer: PromiseLike<T>,
    late?: (value: T) => void,
    missed: (error: RateLimitStoreError) => unknown = itself,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      // The deadline releases the caller: a client may keep the answer's callbacks for hours.
      let waiting: { resolve: typeof resolve; reject: typeof reject } | undefined = { resolve, reject };
      const deadline = this.ask((error) => {
        waiting?.reject(missed(error));
        waiting = undefined;
      });
      void answer.then(
        (value) => {
          this.answered(deadline);
          if (waiting === undefined) late?.(value);
          else waiting.resolve(value);
        },
        (error: unknown) => {
          this.answered(deadline);
          waiting?.reject(error);
        },
      );
    });
  }

  /** Ends the deadline of an answered call. Does nothing if it has passed. */
  answered(deadline: PendingDeadline): void {
    if (deadline.fail === undefined) return;
    deadline.fail = undefined;
    this.remove(deadline);
  }

  /**
   * Whether a call may be sent again: only until its deadline. An overdue call that is still open gets a new deadline: a
   * stall of the event loop has delayed it, not the store.
   */
  sendAgain(deadline: PendingDeadline): boolean {
    if (deadline.fail === undefined) return false;
    const now = this.loop.now();
    if (deadline.expiresAt > now) return true;
    this.remove(deadline);
    deadline.expiresAt = now + this.ms;
    this.append(deadline);
    return true;
  }

  private arm(ms: number): void {
    this.armed = true;
    this.timer = this.loop.later(this.fire, ms);
  }

  private readonly fire = (): void => {
    this.timer = undefined;
    const now = this.loop.now();
    if (this.first === undefined || this.first.expiresAt > now) this.rearm(now);
    else this.loop.turn(() => this.loop.turn(() => this.expire(now)));
  };

  /** @param firedAt when the timer fired: a later reading of the clock would expire calls that were sent since */
  private expire(firedAt: number): void {
    let deadline = this.first;
    while (deadline !== undefined && deadline.expiresAt <= firedAt) {
      const { fail } = deadline;
      deadline.fail = undefined;
      this.remove(deadline);
      fail!(new StoreDeadlineError(`the store gave no answer within ${this.ms} ms`));
      deadline = this.first;
    }
    this.rearm(this.loop.now());
  }

  private rearm(now: number): void {
    if (this.first === undefined) this.armed = false;
    else this.arm(Math.max(1, Math.ceil(this.first.expiresAt - now)));
  }

  private append(deadline: PendingDeadline): void {
    deadline.previous = this.last;
    if (this.last === undefined) this.first = deadline;
    else this.last.next = deadline;
    this.last = deadline;
  }

  /** Unlinks a deadline on both sides: an old object that points at a young one keeps it from young garbage collections. */
  private remove(deadline: PendingDeadline): void {
    const { previous, next } = deadline;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    deadline.previous = deadline.next = undefined;
    if (this.first === undefined) this.timer?.unref();
  }
}

function itself<T>(value: T): T {
  return value;
}

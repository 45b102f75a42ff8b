import { RateLimitStoreError } from './store.js';

/** The store gave no answer in time. */
export class StoreDeadlineError extends RateLimitStoreError {}

/** A question to the store that waits for its answer. */
export interface Question {
  /** The deadline: milliseconds of the monotonic clock. */
  expiresAt: number;
  /** Reports the missed deadline. Undefined once the question is answered or expired. */
  fail: ((error: RateLimitStoreError) => void) | undefined;
  /** The neighbours in the list of open questions, oldest first. */
  previous: Question | undefined;
  next: Question | undefined;
}

/** The time of the event loop. Tests replace it. */
export interface LoopTime {
  /** Milliseconds of a clock that never steps. */
  readonly now: () => number;
  /** Runs `task` after `ms` milliseconds, without keeping the process alive. */
  readonly later: (task: () => void, ms: number) => void;
  /** Runs `task` in the next check phase, after the poll phase. */
  readonly turn: (task: () => void) => void;
}

const LOOP: LoopTime = {
  now: () => performance.now(),
  later: (task, ms) => void setTimeout(task, ms).unref(),
  turn: (task) => void setImmediate(task),
};

/**
 * Fails questions that are not answered in time. All have the same time, so one timer serves them in their order.
 *
 * A stall of the event loop delays the timer and the reading of answers alike. So when the timer fires, two turns of the loop
 * first read the answers that are ready. Then the questions expire that were overdue when the timer fired. Questions that become
 * overdue during these turns get a timer and two turns of their own: their answers may not have been read yet.
 *
 * One poll phase reads every answer that was ready when it began: libuv takes up to 48 x 1,024 events in a phase, and
 * microtasks and ticks run after each. The second turn completes an answer that the first one read in part.
 */
export class Deadlines {
  /** The open questions, as a linked list: an answered one leaves at once, even while older ones stay open. */
  private first: Question | undefined;
  private last: Question | undefined;
  /** Whether the timer, or the turns after it, are under way. */
  private armed = false;

  /** @param ms milliseconds that an answer may take */
  constructor(
    readonly ms: number,
    private readonly loop: LoopTime = LOOP,
  ) {}

  /** Begins a question. Calls `fail` unless `answered` is called in time. */
  ask(fail: (error: RateLimitStoreError) => void): Question {
    const expiresAt = this.loop.now() + this.ms;
    const question: Question = { expiresAt, fail, previous: undefined, next: undefined };
    this.append(question);
    if (!this.armed) this.arm(this.ms);
    return question;
  }

  /** The answer, or a rejection when there is none in time. */
  within<T>(answer: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const question = this.ask(reject);
      void answer.then(
        (value) => {
          this.answered(question);
          resolve(value);
        },
        (error: unknown) => {
          this.answered(question);
          reject(error);
        },
      );
    });
  }

  /** Ends a question. Does nothing if it has expired. */
  answered(question: Question): void {
    if (question.fail === undefined) return;
    question.fail = undefined;
    this.remove(question);
  }

  /**
   * Whether a question may be sent again: only until it expires. An overdue question that is still open gets a new deadline: a
   * stall of the event loop has delayed it, not the store.
   */
  sendAgain(question: Question): boolean {
    if (question.fail === undefined) return false;
    const now = this.loop.now();
    if (question.expiresAt > now) return true;
    this.remove(question);
    question.expiresAt = now + this.ms;
    this.append(question);
    return true;
  }

  private arm(ms: number): void {
    this.armed = true;
    this.loop.later(this.fire, ms);
  }

  private readonly fire = (): void => {
    const now = this.loop.now();
    if (this.first === undefined || this.first.expiresAt > now) this.rearm(now);
    else this.loop.turn(() => this.loop.turn(() => this.expire(now)));
  };

  /** @param firedAt when the timer fired: a later reading of the clock would expire questions that were asked since */
  private expire(firedAt: number): void {
    let question = this.first;
    while (question !== undefined && question.expiresAt <= firedAt) {
      const { fail } = question;
      question.fail = undefined;
      this.remove(question);
      fail!(new StoreDeadlineError(`the store gave no answer within ${this.ms} ms`));
      question = this.first;
    }
    this.rearm(this.loop.now());
  }

  private rearm(now: number): void {
    if (this.first === undefined) this.armed = false;
    else this.arm(Math.max(1, Math.ceil(this.first.expiresAt - now)));
  }

  private append(question: Question): void {
    question.previous = this.last;
    if (this.last === undefined) this.first = question;
    else this.last.next = question;
    this.last = question;
  }

  /** Unlinks a question on both sides: an old object that points at a young one keeps it from young garbage collections. */
  private remove(question: Question): void {
    const { previous, next } = question;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    question.previous = question.next = undefined;
  }
}

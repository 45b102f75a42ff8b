import { RateLimitStoreError } from './store.js';

/** A question that waits for its answer. */
export interface Question {
  /** Milliseconds of the monotonic clock. */
  expiresAt: number;
  /** Undefined once the question is answered or expired. */
  fail: ((error: RateLimitStoreError) => void) | undefined;
  /** Its neighbours among the open questions, of which the oldest is the first. */
  previous: Question | undefined;
  next: Question | undefined;
}

/** The event loop's time, which tests replace. */
export interface LoopTime {
  /** Milliseconds of a clock that never steps. */
  readonly now: () => number;
  /** Runs `task` after `ms` milliseconds, and does not keep the process alive for it. */
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
 * Fails questions that are not answered in time. All have the same deadline, so one timer serves them in their order.
 *
 * A stall of the event loop delays the timer and the reading of answers alike. When the timer fires, it fixes which questions
 * are overdue; two turns of the loop read what lies ready, and those of them that are still open expire. Questions that
 * become overdue during these turns get a timer and two turns of their own: their answers may not have been read yet.
 *
 * One poll phase reads every answer that was ready when it began: libuv takes up to 48 x 1,024 events in a phase, and
 * microtasks and ticks run after each. The second turn is for an answer of which the first one read a part.
 */
export class Deadlines {
  /** The open questions. A list, so that an answered one goes at once though older ones stay open. */
  private first: Question | undefined;
  private last: Question | undefined;
  /** Whether a timer runs, or the turns after it. */
  private armed = false;

  /** @param ms milliseconds that an answer may take */
  constructor(
    readonly ms: number,
    private readonly loop: LoopTime = LOOP,
  ) {}

  /** Calls `fail` when `answered` was not called in time. */
  ask(fail: (error: RateLimitStoreError) => void): Question {
    const expiresAt = this.loop.now() + this.ms;
    const question: Question = { expiresAt, fail, previous: undefined, next: undefined };
    this.append(question);
    if (!this.armed) this.arm(this.ms);
    return question;
  }

  /** The answer, or the failure that there was none in time. */
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

  /** Lets the question go, unless it has expired. */
  answered(question: Question): void {
    if (question.fail === undefined) return;
    question.fail = undefined;
    this.remove(question);
  }

  /**
   * Says whether a question may be sent again, which it may not once it has expired. An overdue one gets a new deadline: only
   * a stall of the event loop leaves it open, and the stall was not the store's.
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

  /** @param firedAt what was overdue then expires; a later reading of the clock would take in what was asked since */
  private expire(firedAt: number): void {
    let question = this.first;
    while (question !== undefined && question.expiresAt <= firedAt) {
      const { fail } = question;
      question.fail = undefined;
      this.remove(question);
      fail!(new RateLimitStoreError(`the store gave no answer within ${this.ms} ms`));
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

  /** What has left the list points nowhere: an old object that pointed at a young one would keep it from young collections. */
  private remove(question: Question): void {
    const { previous, next } = question;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    question.previous = question.next = undefined;
  }
}

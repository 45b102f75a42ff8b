import { RateLimitStoreError } from './store.js';

/** A question that waits for its answer. */
export interface Question {
  readonly expiresAt: number;
  readonly fail: (error: RateLimitStoreError) => void;
  answered: boolean;
}

/** Answered questions that may stand before the others. */
const COMPACT = 4096;

/** Fails questions that are not answered in time. All have the same deadline, so one timer serves them in their order. */
export class Deadlines {
  private questions: (Question | undefined)[] = [];
  /** Where the open questions begin. */
  private first = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param ms milliseconds that an answer may take */
  constructor(readonly ms: number) {}

  /** Calls `fail` when `answered` was not called in time. */
  ask(fail: (error: RateLimitStoreError) => void): Question {
    const question: Question = { expiresAt: performance.now() + this.ms, fail, answered: false };
    this.questions.push(question);
    this.timer ??= this.arm(this.ms);
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

  /** Answers come mostly in order: those at the front are let go at once, so that nobody's garbage grows old here. */
  answered(question: Question): void {
    question.answered = true;
    const { questions } = this;
    while (questions[this.first]?.answered === true) questions[this.first++] = undefined;
    if (this.first === questions.length || this.first >= COMPACT) {
      this.questions = questions.slice(this.first);
      this.first = 0;
    }
  }

  /** After a stall of the event loop the answers wait to be read: two of its turns read them before anybody is given up. */
  private arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => setImmediate(() => this.expire())), ms).unref();
  }

  private expire(): void {
    const now = performance.now();
    let next = this.questions[this.first];
    while (next !== undefined && (next.answered || next.expiresAt <= now)) {
      if (!next.answered) next.fail(new RateLimitStoreError(`the store gave no answer within ${this.ms} ms`));
      next = this.questions[++this.first];
    }
    this.timer = next && this.arm(Math.ceil(next.expiresAt - now));
  }
}

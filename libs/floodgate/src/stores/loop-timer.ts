import { clearImmediate, clearTimeout, setImmediate, setTimeout } from '../util/real-timers.js';
import { unheld } from '../util/runtime.js';

/** Parts of the waiting time. Each ends with turns of the event loop, so a stall uses up one part at most. */
const PARTS = 5;

/**
 * Runs a task after the event loop was free to read answers for a while. A plain timer fires right after a stall of the loop,
 * before the answers that arrived meanwhile are read.
 *
 * @param ms milliseconds of a loop that turns; a stall of any length counts as a fifth of them. Infinity: the task never runs
 * @param isAwaited whether somebody waits for it: it then keeps the process alive; default false
 * @returns cancels the task
 */
export function afterLoopTime(ms: number, task: () => void, isAwaited = false): () => void {
  if (ms === Infinity) return () => undefined; // a timer of Infinity fires at once
  let left = PARTS;
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const wait = (): void => {
    timer = setTimeout(() => {
      // The first turn may have begun before the stall ended. The second one reads all answers that are ready.
      turn = setImmediate(() => {
        turn = setImmediate(() => (--left === 0 ? task() : wait()));
      });
    }, ms / PARTS);
    if (!isAwaited) unheld(timer);
  };
  wait();
  return () => {
    left = 0;
    clearTimeout(timer);
    clearImmediate(turn);
  };
}

/** What `withinLoopTime` does other than its defaults. */
interface Patience<T> {
  /** Gets an answer that comes too late; default: it is dropped. */
  readonly late?: (value: T) => void;
  /** The rejection, when there is no answer in time; default an `Error` that says how long was waited. */
  readonly missed?: () => Error;
  /** Whether the wait keeps the process alive; default true. */
  readonly isAwaited?: boolean;
}

/**
 * The answer, or an error when it takes longer than `ms` milliseconds of a loop that turns.
 *
 * @throws {Error} when there is no answer in time
 */
export function withinLoopTime<T>(ms: number, answer: PromiseLike<T>, patience: Patience<T> = {}): Promise<T> {
  const { late, missed = (): Error => new Error(`no answer within ${ms} ms`), isAwaited = true } = patience;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const cancel = afterLoopTime(
      ms,
      () => {
        isOver = true;
        reject(missed());
      },
      isAwaited,
    );
    void answer.then(
      (value) => {
        cancel();
        if (isOver) late?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** Milliseconds that each step of a shutdown takes at most: for answers, for calls that run, for what goes back, for the client. */
export const CLOSE_PATIENCE_MS = 500;

/** Resolves when a step of a shutdown has ended or failed, or its time has. */
export function closingStep(work: PromiseLike<unknown>): Promise<unknown> {
  return endedWithin(CLOSE_PATIENCE_MS, work);
}

/**
 * Resolves when the work has ended or failed, or `ms` milliseconds of a loop that turns have.
 *
 * @param isAwaited whether the wait keeps the process alive; default true
 */
export function endedWithin(ms: number, work: PromiseLike<unknown>, isAwaited = true): Promise<unknown> {
  return withinLoopTime(ms, work, { isAwaited }).catch(() => undefined);
}

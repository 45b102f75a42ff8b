import { adopted, isPromise } from './is-promise.js';

/** A value, or a promise of it. */
export type Answer<T> = T | Promise<T>;

/** What a function or a store of the application returned, as an answer: it may be anything that has a `then`. */
export function answerOf<T>(returned: T | PromiseLike<T>): Answer<T> {
  return isPromise(returned) ? adopted(returned) : returned;
}

/**
 * Continues with an answer: at once with a value, later with a promise. A value creates no promise.
 *
 * @param failed handles the rejection of a promise
 */
export function andThen<T, R>(
  answer: Answer<T>,
  next: (value: T) => Answer<R>,
  failed?: (error: unknown) => Answer<R>,
): Answer<R> {
  return isPromise(answer) ? answer.then(next, failed) : next(answer);
}

/** Asks, and continues as `andThen` does. `failed` also handles what `ask` throws. */
export function attempt<T, R>(
  ask: () => Answer<T>,
  next: (value: T) => Answer<R>,
  failed: (error: unknown) => Answer<R>,
): Answer<R> {
  let answer: Answer<T>;
  try {
    answer = ask();
  } catch (error) {
    return failed(error);
  }
  return andThen(answer, next, failed);
}

/** All values in their order: without a promise if none of the answers is one. */
export function allOf<T>(answers: readonly Answer<T>[]): Answer<readonly T[]> {
  return answers.some(isPromise) ? Promise.all(answers) : (answers as readonly T[]);
}

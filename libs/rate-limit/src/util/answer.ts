import { isPromise } from './is-promise.js';

/** A value that is there, or comes later. */
export type Answer<T> = T | Promise<T>;

/**
 * Continues at once with a value that is there, and later with one that comes: what needs no waiting makes no promise.
 *
 * @param failed takes the failure of a value that was to come
 */
export function andThen<T, R>(
  answer: Answer<T>,
  next: (value: T) => Answer<R>,
  failed?: (error: unknown) => Answer<R>,
): Answer<R> {
  return isPromise(answer) ? answer.then(next, failed) : next(answer);
}

/** Asks, and continues as `andThen` does. `failed` takes what `ask` throws at once as well. */
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

/** All values, once the last of them is there: at once where none is to come. */
export function allOf<T>(answers: readonly Answer<T>[]): Answer<readonly T[]> {
  return answers.some(isPromise) ? Promise.all(answers) : (answers as readonly T[]);
}

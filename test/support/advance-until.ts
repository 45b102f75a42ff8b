import { jest } from '@jest/globals';

const STEP_MS = 100;
const LONGEST_MS = 600_000;

/**
 * Advances the faked time until a promise settles, and returns its value. `jest.runAllTimersAsync` would wait for the timers of the whole
 * worker: its specs share their globals, and an interval of another spec never ends.
 *
 * @throws Error when the promise has not settled after ten minutes of faked time
 */
export async function advanceUntil<T>(promise: Promise<T>): Promise<T> {
  const settled: unknown[] = [];
  const settle = (): number => settled.push(true);
  promise.then(settle, settle);
  for (let ms = 0; settled.length === 0; ms += STEP_MS) {
    if (ms > LONGEST_MS) throw new Error('the promise has not settled after ten minutes of faked time');
    await jest.advanceTimersByTimeAsync(STEP_MS);
  }
  return promise;
}

// Not the global: a test's fake timers must not stop this one.
import { clearInterval, setInterval } from 'node:timers';

/** Covers the work after a timer has fired, such as sending a response. */
const SLACK_MS = 200;

const TICK_MS = 5;

/** The most that one turn of the event loop counts. A stall (garbage collection, a busy machine) is one long turn. */
const LONGEST_TURN_MS = 2 * TICK_MS;

/**
 * Does some work and tells whether it took `ms` at the most, plus 200 ms for what follows a timer. Counts only the time in
 * which the event loop turns: a stalled process cannot answer, however short the deadline of its code is.
 */
export async function inTime<T>(ms: number, work: () => Promise<T>): Promise<{ result: T; inTime: boolean }> {
  let turnedMs = 0;
  let last = performance.now();
  const count = (): void => {
    const now = performance.now();
    turnedMs += Math.min(now - last, LONGEST_TURN_MS);
    last = now;
  };
  const ticks = setInterval(count, TICK_MS);
  try {
    const result = await work();
    count();
    return { result, inTime: turnedMs <= ms + SLACK_MS };
  } finally {
    clearInterval(ticks);
  }
}

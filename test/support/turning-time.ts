// Not the globals: a test's fake timers must not stop these.
import { clearInterval, setInterval } from 'node:timers';

const TICK_MS = 5;

/** The most that one turn of the event loop counts. A stall (garbage collection, a busy machine) is one long turn. */
const LONGEST_TURN_MS = 2 * TICK_MS;

let turnedMs = 0;
let last = 0;
let measuring = 0;
let ticks: NodeJS.Timeout | undefined;

function count(): void {
  const now = performance.now();
  turnedMs += Math.min(now - last, LONGEST_TURN_MS);
  last = now;
}

/**
 * Does some work and measures it, in milliseconds of an event loop that turns: a stalled process cannot answer, however short
 * the deadline of its code is.
 */
export async function measured<T>(work: () => T | Promise<T>): Promise<{ result: T; ms: number }> {
  if (measuring++ === 0) {
    last = performance.now();
    ticks = setInterval(count, TICK_MS);
  }
  count();
  const since = turnedMs;
  try {
    const result = await work();
    count();
    return { result, ms: turnedMs - since };
  } finally {
    if (--measuring === 0) clearInterval(ticks);
  }
}

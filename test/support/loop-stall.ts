import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** A delay is measured by a timer that fires this often, so it shows with the next one. */
const RESOLUTION_MS = 5;

/** What a piece of work answers, and the longest time in milliseconds that it kept the event loop from anything else. */
export async function stallOf<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly stallMs: number }> {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  try {
    await delay(2 * RESOLUTION_MS);
    const result = await work();
    await delay(2 * RESOLUTION_MS);
    return { result, stallMs: delays.max / 1e6 };
  } finally {
    delays.disable();
  }
}

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** The most that one look counts. A stall of the process is one long look: what ended meanwhile shows with the next one. */
const LONGEST_LOOK_MS = 5 * POLL_MS;

/**
 * Calls `look` until it finds something, and returns that. An error of `look` counts as not found.
 *
 * @throws {Error} after `limitMs` of an event loop that turns, with the last error of `look` as its cause
 */
export async function until<T>(
  what: string,
  limitMs: number,
  look: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  let last: unknown;
  for (let waitedMs = 0; ;) {
    const since = performance.now();
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error;
    }
    if (waitedMs > limitMs) throw new Error(`Not within ${limitMs} ms: ${what}`, { cause: last });
    await delay(POLL_MS);
    waitedMs += Math.min(performance.now() - since, LONGEST_LOOK_MS);
  }
}

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * Calls `look` until it finds something, and returns that. An error of `look` counts as not found.
 *
 * @throws {Error} after `limitMs`, with the last error of `look` as its cause
 */
export async function until<T>(
  what: string,
  limitMs: number,
  look: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  const limit = performance.now() + limitMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error;
    }
    if (performance.now() > limit) throw new Error(`Not within ${limitMs} ms: ${what}`, { cause: last });
    await delay(POLL_MS);
  }
}

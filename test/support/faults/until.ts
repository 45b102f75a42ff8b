import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * What `look` finds, once it finds something. For what another process does in its own time; one that cannot be asked
 * just now is asked again.
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

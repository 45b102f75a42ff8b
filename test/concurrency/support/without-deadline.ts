import { setTimeout as sleep } from 'node:timers/promises';
import type { Policy, RateLimiter } from 'nestjs-floodgate';

const FOREVER_MS = 600_000;
const CONNECTED_WITHIN_MS = 20_000;
const ANY: Policy = { name: 'any', algorithm: 'fixed-window', limit: 1, window: 1000 };

/**
 * Removes a limiter's deadline, and waits until Redis decides. These tests count charges. A request that misses its deadline on
 * a busy machine may be charged all the same.
 */
export async function withoutDeadline(limiter: RateLimiter): Promise<RateLimiter> {
  const deadlines = limiter['calls']['engine']['store']['deadlines'];
  Object.assign(deadlines, { ms: FOREVER_MS });
  if (deadlines['ms'] !== FOREVER_MS) throw new Error('The deadline is no longer the field ms of Deadlines');
  const givesUpAt = performance.now() + CONNECTED_WITHIN_MS;
  for (;;) {
    try {
      await limiter.peek(ANY, { kind: 'user', value: 'ada' });
      return limiter;
    } catch (error) {
      if (performance.now() > givesUpAt) throw error;
      await sleep(10);
    }
  }
}

import type { RateLimiter } from 'nestjs-floodgate';
import type { Decider } from './live.js';

/** What decides about requests of a process in this moment. */
export function deciderOf(enforced: boolean, usesRedis: boolean, limiter: RateLimiter): Decider {
  if (!enforced) return 'none';
  if (!usesRedis) return 'process';
  return limiter.stats().store.available ? 'redis' : 'fallback';
}

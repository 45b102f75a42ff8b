import type { ConfigService } from '@nestjs/config';
import type { RateLimiter } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import type { Enforcement } from '../limits/enforcement.js';
import type { Decider } from './live.js';

/** What decides about requests of this process in this moment. */
export function deciderOf(
  config: ConfigService<Configuration, true>,
  enforcement: Enforcement,
  limiter: RateLimiter,
): Decider {
  if (!enforcement.on) return 'none';
  if (config.get('redisUrl', { infer: true }) === undefined) return 'process';
  return limiter.stats().store.available ? 'redis' : 'fallback';
}

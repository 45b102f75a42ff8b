import { MemoryStore, type RateLimitModuleOptions } from 'nestjs-floodgate';
import type { Platform } from '../../support/http-app.js';
import type { RedisFixture } from '../../support/redis-fixture.js';

export interface Kind {
  readonly platform: Platform;
  readonly store: 'memory' | 'Redis';
}

/** Each platform and each store once. What a platform does does not depend on the store behind it. */
export const KINDS: readonly Kind[] = [
  { platform: 'Express', store: 'Redis' },
  { platform: 'Fastify', store: 'memory' },
];

/** Options of a store that decides on a busy machine as well: its deadline is never what answers. */
export function storeOf({ store }: Kind, redis: RedisFixture): RateLimitModuleOptions {
  return store === 'memory' ? { store: new MemoryStore() } : { redis: redis.server.url, deadline: '10s' };
}

import type { StoreClient } from './client.js';
import { checkUsable } from './given-redis.js';
import { givenIoredis } from './ioredis-client.js';
import { GivenNodeRedis } from './node-redis.js';
import { isRedisCommands, type RedisClient } from './redis-client.js';

/**
 * The client that a store uses: the adapter of a client of the application, or what the module has opened, which is one already.
 *
 * @throws {RateLimitConfigError} when it is no client
 */
export function storeClientOf(client: RedisClient | StoreClient): StoreClient {
  if (isStoreClient(client)) return client;
  checkUsable(client);
  return isRedisCommands(client) ? givenIoredis(client) : new GivenNodeRedis(client);
}

function isStoreClient(value: unknown): value is StoreClient {
  return typeof (value as Partial<StoreClient> | null | undefined)?.runByHash === 'function';
}

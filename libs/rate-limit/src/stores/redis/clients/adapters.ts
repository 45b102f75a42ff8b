import type { StoreClient } from './client.js';
import { noClient } from './given-redis.js';
import { givenIoredis } from './ioredis-client.js';
import { givenNodeRedis } from './node-redis-given.js';
import { isNodeRedisClient, isRedisCommands, type RedisClient } from './redis-client.js';

/**
 * The client that a store uses: the adapter of a client of the application, or what the module has opened, which is one already.
 *
 * @throws {RateLimitConfigError} when it is no client
 */
export function storeClientOf(client: RedisClient | StoreClient): StoreClient {
  if (isRedisCommands(client)) return givenIoredis(client);
  if (isNodeRedisClient(client)) return givenNodeRedis(client);
  if (isStoreClient(client)) return client;
  throw noClient(client);
}

function isStoreClient(value: unknown): value is StoreClient {
  return typeof (value as Partial<StoreClient> | null | undefined)?.runByHash === 'function';
}

import type { StoreClient } from './client.js';
import { givenIoredis } from './ioredis-client.js';
import { isRedisClient, type RedisClient } from './redis-client.js';

/**
 * The client that a store uses: the adapter of a client of the application, or what the module has opened, which is one already.
 *
 * @throws {TypeError} when it is no client
 */
export function storeClientOf(client: RedisClient | StoreClient): StoreClient {
  if (isRedisClient(client)) return givenIoredis(client);
  if (isStoreClient(client)) return client;
  throw new TypeError('RedisStore: takes a client with evalsha, eval and del');
}

function isStoreClient(value: unknown): value is StoreClient {
  return typeof (value as Partial<StoreClient> | null | undefined)?.runByHash === 'function';
}

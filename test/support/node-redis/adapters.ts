// Takes the place of the library's own file in the projects of Jest that run specs with node-redis.
import { Cluster, Redis } from 'ioredis';
import * as real from '../../../libs/floodgate/src/stores/redis/clients/adapters.js';
import type { StoreClient } from '../../../libs/floodgate/src/stores/redis/clients/client.js';
import type { RedisClient } from '../../../libs/floodgate/src/stores/redis/clients/redis-client.js';
import { connectedCluster, connectedTwin } from './twin.js';

/** The client of node-redis in place of each client: stores of one test share it. */
const twins = new WeakMap<object, RedisClient | StoreClient>();

export function storeClientOf(client: RedisClient | StoreClient): StoreClient {
  if (!(client instanceof Redis) && !(client instanceof Cluster)) return real.storeClientOf(client);
  let twin = twins.get(client);
  if (twin === undefined) {
    twin = client instanceof Cluster ? connectedCluster(client) : connectedTwin(client);
    twins.set(client, twin);
  }
  return real.storeClientOf(twin);
}

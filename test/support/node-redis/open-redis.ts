// Takes the place of the library's own file in the projects of Jest that run specs with node-redis: what a spec gives of ioredis
// becomes what an application with node-redis would give.
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { OwnedClient } from '../../../libs/floodgate/src/stores/redis/clients/client.js';
import { openNodeRedis } from '../../../libs/floodgate/src/stores/redis/clients/open-node-redis.js';
import * as real from '../../../libs/floodgate/src/stores/redis/clients/open-redis.js';
import type { RedisClient } from '../../../libs/floodgate/src/stores/redis/clients/redis-client.js';
import type { RedisConnectionOptions } from '../../../libs/floodgate/src/stores/redis/clients/redis-options.js';
import { asNodeRedis } from './twin.js';

export async function openRedis(redis: string | RedisConnectionOptions, where: string): Promise<real.OpenedRedis> {
  if (typeof redis === 'string') return { client: await openNodeRedis(redis, where), library: 'redis', ignored: [] };
  const client = await real.duplicateRedis(asNodeRedis(redis as RedisOptions), where);
  return { client: client!, library: 'redis', ignored: [] };
}

export function duplicateRedis(client: RedisClient, where: string): Promise<OwnedClient | undefined> {
  return real.duplicateRedis(twinOf(client), where);
}

export function changedOptions(client: RedisClient): string[] {
  return real.changedOptions(twinOf(client));
}

function twinOf(client: RedisClient): RedisClient {
  return client instanceof Redis || client instanceof Cluster ? asNodeRedis(client) : client;
}

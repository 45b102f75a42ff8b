import { expect, it } from '@jest/globals';
import { createClient, createCluster, createSentinel } from 'redis';
import { changedNodeRedisOptions, duplicateNodeRedis, openNodeRedis } from './open-node-redis.js';
import type { NodeRedisClient } from './redis-client.js';

it.each([
  ['redis://127.0.0.1:1', 0],
  ['redis://127.0.0.1:1/3', 3],
])('a URL names the database: %s', async (url, database) => {
  expect(await openNodeRedis(url, 'createLimiter, redis')).toMatchObject({ database, state: 'closed' });
});

it.each(['db=1', 'keyPrefix=shop:'])("a URL's option of ioredis stops the boot: %s", async (query) => {
  await expect(openNodeRedis(`redis://127.0.0.1:1?${query}`, 'createLimiter, redis')).rejects.toThrow(
    `createLimiter, redis: the URL's '${query.split('=')[0]}' is an option of ioredis, and node-redis opens the URL: give the database as in redis://host:6379/1`,
  );
});

const node = { keyPrefix: 'shop:', database: 0, pingInterval: 1000 };

const clients: [string, object][] = [
  ['createClient', createClient(node)],
  ['createCluster', createCluster({ rootNodes: [], defaults: node, keyPrefix: 'shop:' })],
  ['createSentinel', createSentinel({ name: 'limits', sentinelRootNodes: [], nodeClientOptions: node })],
];

// A createSentinel of version 5 has no `duplicate`.
it.each(clients.filter(([, client]) => 'duplicate' in client))(
  'the options of a %s are read',
  async (_name, client) => {
    const given = client as NodeRedisClient;
    const own = await duplicateNodeRedis(given, 'createLimiter, redis');
    expect(own).toMatchObject({ keyPrefix: 'shop:', database: 0, state: 'closed' });
    expect(changedNodeRedisOptions(given)).toEqual(['disableOfflineQueue: true', 'pingInterval: undefined']);
    own!.destroy();
  },
);

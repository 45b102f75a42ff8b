import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster, createSentinel } from 'redis';
import { RedisStore } from '../redis.store.js';
import { gotRedis, isGivenRedis } from './given-redis.js';
import type { RedisClient } from './redis-client.js';

const method = (): undefined => undefined;

/** What the class of a client of node-redis 4 has. */
const VERSION_4 = {
  get v4(): never {
    throw new Error('the client is not in "legacy mode"');
  },
};

describe('what is given as redis', () => {
  it.each([
    ['', true],
    ['redis://localhost', true],
    ['rediss://localhost', true],
    [{ host: 'localhost' }, true],
    [{ evalsha: method, eval: method, del: method }, true],
    [Object.assign(new Map(), { evalSha: method, sendCommand: method, close: method, destroy: method }), true],
    ['localhost', false],
    [{ evalsha: method, eval: method }, false],
    [{ evalsha: method, eval: method, del: method, internal_send_command: method }, false],
    [{ evalsha: method, eval: method, del: method, createScript: method }, false],
    [{ evalsha: method, eval: method, del: method, evalSha: method, v4: {} }, false],
    [new Map(), false],
    [[], false],
    [undefined, false],
  ])('%j is right: %s', (redis, right) => {
    expect(isGivenRedis(redis)).toBe(right);
  });

  it.each([
    ['http://user:secret@localhost', 'a URL that begins with http://'],
    ['secret', 'a text that does not begin with redis://'],
    ['redis://user:se/cret@[', 'a URL that cannot be parsed: in a password, / is written %2F'],
    ['REDIS://localhost', 'a URL that begins with REDIS://, in capitals'],
    [null, 'null'],
    [['redis://a'], 'an array: for a Cluster, give a client, as in redis: new Cluster(nodes)'],
    [Promise.resolve(), 'a promise: await it before (with Nest, in forRootAsync)'],
    [
      Object.assign(Object.create(VERSION_4) as object, {
        evalSha: method,
        sendCommand: method,
        disconnect: method,
        duplicate: method,
      }),
      'a client of node-redis before version 5: npm install redis@latest',
    ],
    [
      { evalsha: method, eval: method, del: method, createScript: method },
      'a client of @upstash/redis, which speaks HTTP: give the rediss:// URL of the database',
    ],
    [{ evalsha: method, eval: method }, 'an object with evalsha and eval, and without del'],
  ])('%j is named, and not shown', (redis, named) => {
    expect(gotRedis(redis)).toBe(named);
    expect(gotRedis(redis)).not.toContain('secret');
  });
});

describe('what comes of a client and decides nothing', () => {
  const ioredis = new Redis({ lazyConnect: true });
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  const nodeRedis = createClient();

  it.each<[string, unknown, string]>([
    ['pipeline()', ioredis.pipeline(), 'a pipeline() or multi() of ioredis: give the client itself'],
    ['pipeline() of a Cluster', cluster.pipeline(), 'a pipeline() or multi() of ioredis: give the client itself'],
    ['multi() of node-redis', nodeRedis.multi(), 'a multi() of node-redis: give the client itself'],
    ['legacy()', nodeRedis.legacy(), 'a legacy() of node-redis, which takes callbacks: give the client itself'],
    ['Redis', Redis, 'the class Redis: give a client, as in redis: new Redis()'],
  ])('is refused by its name: %s', (_name, given, named) => {
    expect([isGivenRedis(given), gotRedis(given)]).toEqual([false, named]);
    expect(() => new RedisStore(given as RedisClient)).toThrow(named);
  });

  it.each([
    createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] }),
    createSentinel({ name: 'limits', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
  ])('is no client of a RedisStore where node-redis has several servers: the module opens them', (group) => {
    expect(isGivenRedis(group)).toBe(true);
    expect(() => new RedisStore(group as unknown as RedisClient)).toThrow(
      'got a createCluster or createSentinel of node-redis, whose nodes the limiter connects by itself: give it as the option redis',
    );
  });

  it('leaves the clients as they are', () => {
    expect([ioredis, cluster, nodeRedis, nodeRedis.createPool()].map(isGivenRedis)).toEqual([true, true, true, true]);
  });
});

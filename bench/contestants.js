import { once } from 'node:events';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { user } from './floodgate.js';

/** High enough that everything passes, long enough that no window ends within a run. */
export const PEER_LIMIT = 1_000_000_000;
export const PEER_WINDOW_S = 3600;

/** A value of the length of a token bucket's state. */
export const STATE = '1700000000000000';

/** A connection of its own for each contestant: none waits for another's answers. */
export async function connect(bench, options = {}) {
  const client = new Redis(bench.url, options);
  bench.onClose(() => client.disconnect());
  await once(client, 'ready');
  return client;
}

/** `keys` names that, with what the peer puts around them, become keys of `length` characters. */
function names(keys, length, around) {
  return Array.from({ length: keys }, (_, i) => user(i, length - around.length));
}

/**
 * Opens rate-limiter-flexible as its wiki configures it for ioredis. `storeClient` replaces a connection to the bench's Redis.
 */
export async function rateLimiterFlexible(bench, peer) {
  const { keys, length, name = 'rate-limiter-flexible', client, storeClient: given, ...options } = peer;
  const storeClient = given ?? (await connect(bench, { enableOfflineQueue: false, ...client }));
  const limiter = new RateLimiterRedis({
    storeClient,
    points: PEER_LIMIT,
    duration: PEER_WINDOW_S,
    keyPrefix: 'rlflx',
    ...options,
  });
  return asking(name, limiter, names(keys, length, 'rlflx:'));
}

/** Opens rate-limiter-flexible without Redis. */
export function rateLimiterMemory({ keys, name = 'rate-limiter-flexible', ...options }) {
  const limiter = new RateLimiterMemory({ points: PEER_LIMIT, duration: PEER_WINDOW_S, ...options });
  return asking(name, limiter, names(keys, 0, ''));
}

function asking(name, limiter, users) {
  return {
    name,
    limiter,
    users,
    ask: (i) => limiter.consume(users[i % users.length]),
    right: (answer) => !(answer instanceof Error) && answer.consumedPoints <= limiter.points && answer.msBeforeNext > 0,
  };
}

/** The store behind `express-rate-limit`, set up by it as the README says; its middleware is not measured. */
export async function rateLimitRedis(bench, { keys, length }) {
  const client = await connect(bench);
  const store = new RedisStore({ sendCommand: (command, ...args) => client.call(command, ...args) });
  rateLimit({ windowMs: PEER_WINDOW_S * 1000, limit: PEER_LIMIT, store });
  const users = names(keys, length, 'rl:');
  return {
    name: 'rate-limit-redis',
    ask: (i) => store.increment(users[i % keys]),
    right: ({ totalHits }) => totalHits >= 1 && totalHits <= PEER_LIMIT,
  };
}

/** What `@nestjs/throttler`'s guard asks of its storage for every request. */
export async function throttlerRedis(bench, { keys, length }) {
  const storage = new ThrottlerStorageRedisService(await connect(bench));
  const users = names(keys, length, '{:default}:hits');
  const ttl = PEER_WINDOW_S * 1000;
  return {
    name: 'throttler-storage-redis',
    ask: (i) => storage.increment(users[i % keys], ttl, PEER_LIMIT, ttl, 'default'),
    right: ({ isBlocked, totalHits }) => isBlocked === false && totalHits >= 1,
  };
}

/** No limiter: the least that one script call for each decision costs. */
export async function bareEvalsha(bench, { keys, length }) {
  const client = await connect(bench);
  const sha = await client.script('LOAD', 'return 1');
  const users = names(keys, length, '');
  return { name: 'bare EVALSHA', ask: (i) => client.evalsha(sha, 1, users[i % keys]), right: (answer) => answer === 1 };
}

/** No limiter: the least that one command for each decision costs. */
export async function incr(bench, { keys, length }) {
  const client = await connect(bench);
  const users = names(keys, length, 'n:').map((name) => `n:${name}`);
  return { name: 'INCR', ask: (i) => client.incr(users[i % keys]), right: (answer) => answer >= 1 };
}

/** No limiter, not even atomic: what Redis physically does for a decision, with the round trips shared by a turn. */
export async function getSet(bench, { keys, length }) {
  const client = await connect(bench, { enableAutoPipelining: true });
  const users = names(keys, length, 's:').map((name) => `s:${name}`);
  return {
    name: 'GET + SET, pipelined',
    ask: (i) => {
      const key = users[i % keys];
      return Promise.all([client.get(key), client.set(key, STATE, 'PX', PEER_WINDOW_S * 1000)]);
    },
    right: ([, set]) => set === 'OK',
  };
}

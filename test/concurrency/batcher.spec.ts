import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RateLimiter } from 'nestjs-floodgate';
import { useRedis } from '../support/redis-fixture.js';
import { commandsDuring } from './support/command-stats.js';
import { type OpenLimiter, openLimiter } from './support/open-limiter.js';

const POLICY = { name: 'any', algorithm: 'token-bucket', capacity: 5, refill: 1 } as const;

let opened: OpenLimiter;
let limiter: RateLimiter;

// Jest runs hooks in this order: the server stops after its clients.
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
});

const redis = useRedis();

beforeAll(async () => {
  opened = await openLimiter(redis.server.url);
  ({ limiter } = opened);
}, 30_000);

beforeEach(async () => {
  await ask('warm-up'); // Redis knows the script from here on
});

function ask(user: string, cost = 1): Promise<unknown> {
  return limiter.consume(POLICY, { kind: 'user', value: user }, { cost });
}

/** Makes requests in one turn of the event loop. */
function inOneTurn(count: number, request: (index: number) => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, (_, index) => request(index)));
}

describe('requests of one turn of the event loop', () => {
  it.each([
    { requests: 1, batches: 1 },
    { requests: 32, batches: 1 },
    { requests: 33, batches: 2 },
    { requests: 1000, batches: 32 },
  ])('share $batches EVALSHA when they are $requests of different users', async ({ requests, batches }) => {
    const stats = await commandsDuring(redis.client, () => inOneTurn(requests, (i) => ask(`user ${i}`)));
    expect(stats('evalsha')).toEqual({ calls: batches, failed: 0 });
    const reads = stats('mget').calls + stats('get').calls; // a call of one row needs less
    expect([stats('time').calls, reads, stats('set').calls]).toEqual([batches, batches, requests]);
  });

  it('share one EVALSHA when they are 1,000 equal ones of some users in turn', async () => {
    const stats = await commandsDuring(redis.client, () => inOneTurn(1000, (i) => ask(`user ${i % 32}`)));
    expect(stats('evalsha')).toEqual({ calls: 1, failed: 0 });
  });

  it.each([
    ['of many users', (i: number) => `user-${i}`],
    ['of one user', () => 'one'],
  ])('add at most 1,000 log entries in one call, so that other requests do not wait long: %s', async (_, userOf) => {
    const log = { name: 'log', algorithm: 'sliding-window-log', limit: 100_000, window: '1h' } as const;
    const stats = await commandsDuring(redis.client, () =>
      inOneTurn(30, (i) => limiter.consume(log, { kind: 'user', value: userOf(i) }, { cost: 100 })),
    );
    expect(stats('evalsha').calls).toBe(3);
  });
});

describe('requests one at a time', () => {
  it('are one EVALSHA each', async () => {
    const stats = await commandsDuring(redis.client, async () => {
      for (let i = 0; i < 50; i++) await ask(`user ${i % 3}`);
    });
    expect([stats('evalsha').calls, stats('eval').calls]).toEqual([50, 0]);
  });
});

import { setImmediate as nextTurn } from 'node:timers/promises';
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

/** The commands that clients sent during `work`, without the script's own calls. */
async function sentDuring(work: () => Promise<unknown>): Promise<string[]> {
  const monitor = await redis.client.monitor();
  try {
    const sent: string[] = [];
    const ended = new Promise<void>((resolve) => {
      monitor.on('monitor', (_time: string, [name = '', text]: string[], source: string) => {
        if (text === 'the end') resolve();
        else if (source !== 'lua') sent.push(name.toUpperCase());
      });
    });
    await work();
    await redis.client.ping('the end');
    await ended;
    return sent;
  } finally {
    monitor.disconnect();
  }
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

  it.each([
    { title: 'of one user', user: () => 'ada' },
    { title: 'of some users in turn', user: (i: number) => `user ${i % 32}` },
  ])('share one EVALSHA when they are 1,000 equal ones $title', async ({ user }) => {
    const stats = await commandsDuring(redis.client, () => inOneTurn(1000, (i) => ask(user(i))));
    expect(stats('evalsha')).toEqual({ calls: 1, failed: 0 });
    expect([stats('time').calls, stats('mget').calls + stats('get').calls]).toEqual([1, 1]);
  });

  it('keep separate rows when another request of their key stands between them', async () => {
    const stats = await commandsDuring(redis.client, () => inOneTurn(96, (i) => ask('ada', 1 + (i % 2))));
    expect(stats('evalsha').calls).toBe(3);
  });

  it.each([
    ['of many users', (i: number) => `user-${i}`],
    ['of one user', () => 'one'],
  ])('add at most 1,000 log entries in one call, so that other requests do not wait long: %s', async (_, userOf) => {
    const log = { name: 'log', algorithm: 'sliding-window-log', limit: 100_000, window: '1h' } as const;
    const sent = await sentDuring(() =>
      inOneTurn(30, (i) => limiter.consume(log, { kind: 'user', value: userOf(i) }, { cost: 100 })),
    );
    expect(sent).toEqual(Array(3).fill('EVALSHA'));
  });

  it('do not wait for the requests of the next turn', async () => {
    const stats = await commandsDuring(redis.client, async () => {
      const asked: Promise<unknown>[] = [];
      for (let turn = 0; turn < 5; turn++) {
        asked.push(inOneTurn(10, () => ask('ada')));
        await nextTurn();
      }
      await Promise.all(asked);
    });
    expect(stats('evalsha').calls).toBe(5);
  });
});

describe('requests one at a time', () => {
  it('are one EVALSHA each, without any other command', async () => {
    const sent = await sentDuring(async () => {
      for (let i = 0; i < 50; i++) await ask(`user ${i % 3}`);
    });
    expect(sent).toEqual(Array.from({ length: 50 }, () => 'EVALSHA'));
  });
});

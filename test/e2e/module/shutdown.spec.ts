import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { MemoryStore, RateLimit, RateLimiter, RateLimitModule, type RateLimitStore } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, type Reply, start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { StillStore } from '../../support/still-store.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

let entered = 0;

@Controller()
class Slow {
  @Get()
  @RateLimit({ algorithm: 'leaky-bucket', capacity: 10, drain: '1/h', by: 'global' })
  get(): void {
    entered++;
  }

  @Get('free')
  free(): string {
    return 'open';
  }
}

/** Delays the close, after the waiting requests were answered and before the server closes. */
@Injectable()
class SlowToClose implements BeforeApplicationShutdown {
  static ms = 0;

  async beforeApplicationShutdown(): Promise<void> {
    await delay(SlowToClose.ms);
  }
}

async function sendWaiting(app: HttpApp, count: number): Promise<Promise<Reply>[]> {
  expect((await app.send('/')).status).toBe(200);
  const waiting = Array.from({ length: count }, () => app.send('/'));
  await delay(50);
  return waiting;
}

describe.each(PLATFORMS)('over %s, the close of an application', (platform) => {
  it('answers waiting requests with 503 and Retry-After, and passes none of them', async () => {
    entered = 0;
    await using app = await limited(platform, Slow);
    const waiting = await sendWaiting(app, 5);
    const since = performance.now();
    const closed = app.close().then(() => performance.now() - since);
    for (const { status, headers, body } of await Promise.all(waiting)) {
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe('1');
      expect(body).toEqual({
        statusCode: 503,
        error: 'rate_limit_unavailable',
        message: 'The server is shutting down',
        retry_after: 1,
      });
    }
    expect(await closed).toBeLessThan(1000);
    expect(entered).toBe(1);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('answers new requests that might wait with 503, uncharged, and other new requests as before', async () => {
    SlowToClose.ms = 150;
    const store = new StillStore();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store })],
      controllers: [Slow],
      providers: [SlowToClose],
    });
    const waiting = await sendWaiting(app, 1);
    const closed = app.close();
    await delay(50);
    const charged = store.asked.length;
    const [late, free] = await Promise.all([app.send('/'), app.send('/free')]);
    expect([late.status, late.headers['retry-after']]).toEqual([503, '1']);
    expect([free.status, free.text]).toEqual([200, 'open']);
    expect((await waiting[0]!).status).toBe(503);
    expect(store.asked).toHaveLength(charged);
    await closed;
  });

  it('does not close a store that was handed in', async () => {
    const calls: string[] = [];
    const inner = new MemoryStore();
    const store: RateLimitStore = {
      consume: (charges) => inner.consume(charges),
      reset: (keys) => inner.reset(keys),
      connect: async () => void calls.push('connect'),
      close: async () => void calls.push('close'),
    };
    await using app = await limited(platform, Slow, { store });
    await app.close();
    expect(calls).toEqual(['connect']);
  });

  it('closes the connection to Redis that the module opened', async () => {
    await using server = await RedisServer.start();
    const observer = new Redis(server.url);
    const connections = async (): Promise<number> =>
      String(await observer.client('LIST'))
        .trim()
        .split('\n').length - 1;
    await using app = await limited(platform, Slow, { redis: server.url });
    expect(await connections()).toBe(1);
    await app.close();
    expect(await connections()).toBe(0);
    observer.disconnect();
  });

  it.each<[string, (server: RedisServer) => void | Promise<void>]>([
    ['paused', (server) => server.pause()],
    ['gone', (server) => server.kill()],
  ])('does not hang on a Redis that is %s', async (_, fail) => {
    await using server = await RedisServer.start();
    const app = await limited(platform, Slow, { redis: server.url });
    await fail(server);
    const closed = app.close().then(() => 'closed');
    expect(await Promise.race([closed, delay(2000, 'hangs', { ref: false })])).toBe('closed');
  });

  it('leaves a client that was handed in open', async () => {
    await using server = await RedisServer.start();
    const client = new Redis(server.url);
    await using app = await limited(platform, Slow, { redis: client });
    const decision = await app.app
      .get(RateLimiter)
      .consume({ name: 'x', algorithm: 'token-bucket', capacity: 2, refill: 1 }, { kind: 'user', value: 'ada' });
    expect(decision.decidedBy).toBe('store');
    await app.close();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });
});

describe('the close of an application with prefetched tokens', () => {
  it('asks a store that was handed in nothing more', async () => {
    const memory = new MemoryStore();
    let asked = 0;
    const store: RateLimitStore = {
      supports: ['shadow', 'block', 'prefetch'],
      consume: (charges) => (asked++, memory.consume(charges)),
      refund: () => void asked++,
      reset: (keys) => memory.reset(keys),
    };
    const prefetch = { for: '20ms', max: 50 };
    const policies = {
      bucket: { algorithm: 'token-bucket', capacity: 1_000, refill: 100, prefetch },
      window: { algorithm: 'fixed-window', limit: 1_000, window: '1h', prefetch },
    } as const;
    const module = RateLimitModule.forRoot({ store, policies, guard: false });
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    const limiter = app.get(RateLimiter);
    for (let i = 0; i < 12; i++) await limiter.consume(['bucket', 'window'], { kind: 'user', value: 'ada' });
    expect(limiter.stats().prefetch.prefetched).toBeGreaterThan(0);
    await app.close();
    const before = asked;
    await delay(100); // 5 times as long as a prefetch
    expect(asked).toBe(before);
  });
});

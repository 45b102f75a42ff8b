import { EventEmitter, once } from 'node:events';
import { Controller, Get, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { MemoryStore, RateLimit, RateLimiter, RateLimitModule, type RateLimitStore } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, type Reply, start } from '../../support/http-app.js';
import { until } from '../../support/faults/until.js';
import { RedisServer } from '../../support/redis-server.js';
import { StillStore } from '../../support/still-store.js';

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
  static readonly steps = new EventEmitter();

  async beforeApplicationShutdown(): Promise<void> {
    if (SlowToClose.steps.listenerCount('begin') === 0) return; // closed before
    const end = once(SlowToClose.steps, 'end');
    SlowToClose.steps.emit('begin');
    await end;
  }
}

async function sendWaiting(app: HttpApp, count: number): Promise<Promise<Reply>[]> {
  expect((await app.send('/')).status).toBe(200);
  const waiting = Array.from({ length: count }, () => app.send('/'));
  await until('they wait', 10_000, () => app.app.get(RateLimiter).stats().waiting === count);
  return waiting;
}

describe.each(PLATFORMS)('over %s, the close of an application', (platform) => {
  it('answers waiting requests with 503 and Retry-After, and passes none of them', async () => {
    entered = 0;
    await using app = await limited(platform, Slow);
    const waiting = await sendWaiting(app, 5);
    const closed = app.close();
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
    await closed;
    expect(entered).toBe(1);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('answers new requests that might wait with 503, uncharged, and other new requests as before', async () => {
    const store = new StillStore();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store })],
      controllers: [Slow],
      providers: [SlowToClose],
    });
    const waiting = await sendWaiting(app, 1);
    const begin = once(SlowToClose.steps, 'begin');
    const closed = app.close();
    await begin;
    const charged = store.asked.length;
    const [late, free] = await Promise.all([app.send('/'), app.send('/free')]);
    expect([late.status, late.headers['retry-after']]).toEqual([503, '1']);
    expect([free.status, free.text]).toEqual([200, 'open']);
    expect((await waiting[0]!).status).toBe(503);
    expect(store.asked).toHaveLength(charged);
    SlowToClose.steps.emit('end');
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
    await until('it is closed', 10_000, async () => (await connections()) === 0);
    observer.disconnect();
  });
});

import { once } from 'node:events';
import { Controller, Get, HttpException, type INestApplication, Query, Sse } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { interval, map } from 'rxjs';
import {
  type ConcurrencyPolicy,
  MemoryStore,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, type Platform, PLATFORMS } from '../../support/http-app.js';
import { nodeWarnings } from '../../support/node-warnings.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RateLimitRuntime } from '../../support/runtime.js';
import { dial, requestFor } from '../support/waiting-routes.js';

jest.setTimeout(30_000); // leases renew in real time

const THREE: ConcurrencyPolicy = {
  name: 'three',
  algorithm: 'concurrency',
  limit: 3,
  lease: '30s',
  by: 'user',
  scope: 'app',
};
const STREAMS: ConcurrencyPolicy = { ...THREE, name: 'streams', limit: 2, lease: '1s' };
const ADA = { kind: 'user', value: 'ada' } as const;

let running: (() => void)[] = [];
let entered = 0;

/** Ends all handlers that run. */
function finish(): void {
  for (const end of running.splice(0)) end();
}

@Controller()
class Routes {
  @Get('hold')
  @RateLimit(THREE)
  async hold(): Promise<string> {
    entered++;
    await new Promise<void>((resolve) => running.push(resolve));
    return 'done';
  }

  @Get('quick')
  @RateLimit(THREE)
  quick(): string {
    return 'done';
  }

  @Get('fails')
  @RateLimit(THREE)
  fails(@Query('status') status: string): void {
    if (status === undefined) throw new Error('unexpected');
    throw new HttpException('expected', Number(status));
  }

  @Get('once')
  @RateLimit(THREE, { name: 'once', algorithm: 'fixed-window', limit: 1, window: '1h', by: 'user' })
  once(): string {
    return 'done';
  }

  @Get('queue')
  @RateLimit(THREE, { name: 'queue', algorithm: 'leaky-bucket', capacity: 100, drain: '1/h', by: 'user' })
  queue(): string {
    return 'done';
  }

  @Get('dear')
  @RateLimit(() => ({ ...THREE, cost: 2 }))
  dear(): Promise<string> {
    return this.hold();
  }

  @Sse('stream')
  @RateLimit(STREAMS)
  stream(): unknown {
    return interval(50).pipe(map((i) => ({ data: String(i) })));
  }
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({ store: new MemoryStore() }),
  // On a busy machine a late answer would be a decision of the process, which counts by itself.
  Redis: () => ({ redis: redis.server.url, deadline: '5s' }),
};

const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

let warned: () => Promise<string[]>;
beforeEach(() => {
  [running, entered] = [[], 0];
  warned = nodeWarnings();
});
afterEach(async () => {
  finish();
  const warnings = await warned();
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
});

function open(
  { platform, store }: { platform: Platform; store: string },
  more: RateLimitModuleOptions = {},
): Promise<HttpApp> {
  return limited(platform, Routes, { identity: FROM_HEADERS, ...STORES[store]!(), ...more });
}

/** How many more requests of a user would pass. */
async function free(app: INestApplication, policy: ConcurrencyPolicy = THREE): Promise<number> {
  const { policies } = await app.get(RateLimiter).peek(policy, ADA);
  return policies[0]!.remaining;
}

async function untilFree(app: INestApplication, count: number, policy?: ConcurrencyPolicy): Promise<void> {
  await until(`${count} free`, 5_000, async () => (await free(app, policy)) === count);
}

async function untilEntered(count: number): Promise<void> {
  await until(`${count} entered`, 5_000, () => entered === count);
}

describe.each(KINDS)('three requests in flight for each user, over $platform with $store', (kind) => {
  it('pass, the fourth is rejected, and the next one passes when one has ended', async () => {
    await using app = await open(kind);
    const three = [1, 2, 3].map(() => app.as('ada', '/hold'));
    await untilEntered(3);
    const fourth = await app.as('ada', '/quick');
    expect([fourth.status, fourth.headers['retry-after']]).toEqual([429, '1']);
    expect(fourth.body).toMatchObject({ policy: 'three', retry_after: 1, retry_after_ms: 1_000 });
    expect((await app.as('bob', '/quick')).status).toBe(200);
    running.shift()!();
    expect((await Promise.race(three)).status).toBe(200);
    await untilFree(app.app, 1);
    expect((await app.as('ada', '/quick')).status).toBe(200);
    finish();
    await Promise.all(three);
    await untilFree(app.app, 3);
  });

  it('are free again after any number of requests that answered, failed or were not found', async () => {
    await using app = await open(kind);
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const path = ['/quick', '/fails', '/fails?status=418'][i % 3]!;
      statuses.push((await app.as('ada', path)).status);
      await untilFree(app.app, 3);
    }
    expect(statuses).toEqual(Array.from({ length: 4 }, () => [200, 500, 418]).flat());
  });

  it('are free when their clients hang up, though their handlers run on', async () => {
    await using app = await open(kind);
    const clients = [await dial(app.app), await dial(app.app), await dial(app.app)];
    for (const client of clients) client.write(requestFor('/hold', 'ada'));
    await untilEntered(3);
    expect(await free(app.app)).toBe(0);
    clients[0]!.destroy();
    clients[1]!.resetAndDestroy();
    await untilFree(app.app, 2);
    finish();
    await once(clients[2]!, 'data');
    await untilFree(app.app, 3);
    clients[2]!.destroy();
  });

  it('are free when the connection of pipelined requests ends', async () => {
    await using app = await open(kind);
    const client = await dial(app.app);
    client.write(requestFor('/hold', 'ada').repeat(5));
    await untilEntered(3);
    expect(await free(app.app)).toBe(0);
    client.destroy();
    await untilFree(app.app, 3);
  });

  it('hold no lease where another policy rejects, or where they are rejected', async () => {
    await using app = await open(kind);
    expect((await app.as('ada', '/once')).status).toBe(200);
    await untilFree(app.app, 3);
    for (let i = 0; i < 5; i++) expect((await app.as('ada', '/once')).status).toBe(429);
    expect(await free(app.app)).toBe(3);
    const held = [1, 2, 3].map(() => app.as('ada', '/hold'));
    await untilEntered(3);
    for (let i = 0; i < 5; i++) expect((await app.as('ada', '/hold')).status).toBe(429);
    finish();
    await Promise.all(held);
    await untilFree(app.app, 3);
  });

  it('take as many leases as they cost', async () => {
    await using app = await open(kind);
    const dear = app.as('ada', '/dear');
    await untilEntered(1);
    expect(await free(app.app)).toBe(1);
    expect((await app.as('ada', '/dear')).status).toBe(429);
    finish();
    await dear;
    await untilFree(app.app, 3);
  });

  it('count while they wait in a queue, and are free when their client leaves it', async () => {
    await using app = await open(kind);
    const room = app.app.get(RateLimitRuntime).waitingRoom;
    expect((await app.as('ada', '/queue')).status).toBe(200);
    await untilFree(app.app, 3);
    const clients = [await dial(app.app), await dial(app.app)];
    for (const client of clients) client.write(requestFor('/queue', 'ada'));
    await until('two wait', 5_000, () => room.size === 2);
    expect(await free(app.app)).toBe(1);
    for (const client of clients) client.destroy();
    await untilFree(app.app, 3);
  });

  it('are counted before the route is known, and once where the route names the policy as well', async () => {
    await using app = await open(kind, { middleware: [THREE] });
    const two = [1, 2].map(() => app.as('ada', '/hold'));
    await untilEntered(2);
    expect(await free(app.app)).toBe(1);
    expect((await app.as('ada', '/nowhere')).status).toBe(404);
    await untilFree(app.app, 1);
    finish();
    await Promise.all(two);
    await untilFree(app.app, 3);
  });

  it('renew while they stream longer than their lease, and are free when the client leaves', async () => {
    await using app = await open(kind);
    const clients = [await dial(app.app), await dial(app.app)];
    for (const client of clients) client.resume().write(requestFor('/stream', 'ada'));
    await Promise.all(clients.map((client) => once(client, 'data')));
    for (const since = performance.now(); performance.now() - since < 2_500;) {
      expect((await app.as('ada', '/stream')).status).toBe(429);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const client of clients) client.destroy();
    await untilFree(app.app, 2, STREAMS);
    expect(app.app.get(RateLimitRuntime).leases.size).toBe(0);
  });

  it('say in the draft format that they are requests at once, with no window', async () => {
    await using app = await open(kind, { headers: 'draft' });
    const { headers } = await app.as('ada', '/quick');
    expect(headers['ratelimit-policy']).toBe('"three";q=3;qu="concurrent-requests"');
    expect(headers.ratelimit).toBe('"three";r=2');
    expect(app.logs.of('warn').filter((line) => line.includes('quotaUnit'))).toEqual([]);
  });
});

describe('a concurrency by code', () => {
  it('is held from acquire to release, renewed meanwhile, and released once', async () => {
    await using app = await open({ platform: 'Express', store: 'Redis' });
    const limiter = app.app.get(RateLimiter);
    const [one, two] = [await limiter.acquire(STREAMS, ADA), await limiter.acquire(STREAMS, ADA)];
    expect([one.allowed, two.allowed]).toEqual([true, true]);
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    const three = await limiter.acquire(STREAMS, ADA);
    expect([three.allowed, three.decision.retryAfterMs! <= 1_000]).toEqual([false, true]);
    three.release();
    one.release();
    one.release();
    await untilFree(app.app, 1, STREAMS);
    two.release();
    await untilFree(app.app, 2, STREAMS);
  });

  it('cannot be consumed, and acquire needs one', async () => {
    await using app = await open({ platform: 'Fastify', store: 'memory' });
    const limiter = app.app.get(RateLimiter);
    const message = `RateLimiter.consume: 'three' is a concurrency, whose leases have to be released: use RateLimiter.acquire`;
    await expect(limiter.consume(THREE, ADA)).rejects.toThrow(message);
    await expect(limiter.consume(THREE, ADA, { cost: 2 })).rejects.toThrow(message);
    expect((await limiter.consume(THREE, ADA, { cost: 0 })).allowed).toBe(true);
    const bucket = { name: 'bucket', algorithm: 'token-bucket', capacity: 1, refill: 1 } as const;
    await expect(limiter.acquire(bucket, ADA)).rejects.toThrow(`'bucket' has no leases`);
    await expect(limiter.acquire(THREE, ADA, { cost: 0 })).rejects.toThrow('cost must be a whole number from 1, got 0');
    const both = await limiter.acquire([THREE, bucket], ADA);
    expect((await limiter.acquire([THREE, bucket], ADA)).allowed).toBe(false);
    both.release();
    expect(await free(app.app)).toBe(3);
    expect((await limiter.peek(bucket, ADA)).allowed).toBe(false); // what a bucket charged stays charged
  });

  it('that Redis has lost is taken again as soon as a place is free, and the log says so', async () => {
    await using app = await open({ platform: 'Express', store: 'Redis' });
    await using other = await open({ platform: 'Fastify', store: 'Redis' });
    const one: ConcurrencyPolicy = { ...STREAMS, name: 'one', limit: 1 };
    const lost = await app.app.get(RateLimiter).acquire(one, ADA);
    await redis.client.flushdb();
    const next = await other.app.get(RateLimiter).acquire(one, ADA);
    expect([lost.allowed, next.allowed]).toEqual([true, true]);
    const warning = `A lease of policy 'one' ended before it was renewed, and none is free: its request is not counted until one is`;
    // Nest logs for all applications of a process to the last one.
    await until('the log says so', 5_000, () => other.logs.text.includes(warning));
    next.release();
    await untilFree(other.app, 1, one);
    await untilFree(other.app, 0, one); // the lost one is counted again
    lost.release();
    await untilFree(other.app, 1, one);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await free(app.app, one)).toBe(1);
  });

  it('is not for shards', async () => {
    const shards = { ...THREE, by: 'global', shards: 3 } as const;
    await expect(limited('Express', Routes, { policies: { three: shards } })).rejects.toThrow(
      'shards: 3 is not for a concurrency: its state cannot be split',
    );
  });
});

describe('a concurrency while Redis is away', () => {
  it('is counted in the process, renewed and released there', async () => {
    await using app = await limited('Express', Routes, { identity: FROM_HEADERS, redis: 'redis://127.0.0.1:1' });
    const clients = [await dial(app.app), await dial(app.app)];
    for (const client of clients) client.resume().write(requestFor('/stream', 'ada'));
    await Promise.all(clients.map((client) => once(client, 'data')));
    for (const since = performance.now(); performance.now() - since < 2_200;) {
      expect((await app.as('ada', '/stream')).status).toBe(429);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const client of clients) client.destroy();
    await untilFree(app.app, 2, STREAMS);
  });
});

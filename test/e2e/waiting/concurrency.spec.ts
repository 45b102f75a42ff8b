import { once } from 'node:events';
import { Controller, Get, HttpException, type INestApplication, Query, Sse } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { interval, map } from 'rxjs';
import {
  type Charge,
  type ConcurrencyPolicy,
  MemoryStore,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  type Verdict,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { nodeWarnings } from '../../support/node-warnings.js';
import { useRedis } from '../../support/redis-fixture.js';
import { type Kind, KINDS, storeOf } from '../support/kinds.js';
import { RateLimitRuntime } from '../../support/runtime.js';
import { dial, requestFor } from '../support/waiting-routes.js';

jest.setTimeout(30_000); // the machine may be busy

const LEASES = { algorithm: 'concurrency', by: 'user', scope: 'app' } as const;
const THREE: ConcurrencyPolicy = { ...LEASES, name: 'three', limit: 3, lease: '30s' };
const STREAMS: ConcurrencyPolicy = { ...LEASES, name: 'streams', limit: 2, lease: '1s' };
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

  @Sse('stream')
  @RateLimit(STREAMS)
  stream(): unknown {
    return interval(50).pipe(map((i) => ({ data: String(i) })));
  }
}

const redis = useRedis();
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

function open(kind: Kind, more: RateLimitModuleOptions = {}): Promise<HttpApp> {
  return limited(kind.platform, Routes, { identity: FROM_HEADERS, ...storeOf(kind, redis), ...more });
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

  it('are free again after requests that answered or failed', async () => {
    await using app = await open(kind);
    const statuses: number[] = [];
    for (const path of ['/quick', '/fails', '/fails?status=418']) {
      statuses.push((await app.as('ada', path)).status);
      await untilFree(app.app, 3);
    }
    expect(statuses).toEqual([200, 500, 418]);
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
});

describe.each(PLATFORMS)('streams over %s', (platform) => {
  it('renew their leases, and are free when their clients leave', async () => {
    let [now, asked] = [1_700_000_000_000_000, 0];
    class Asked extends MemoryStore {
      override consume(charges: readonly Charge[]): Verdict {
        asked++;
        return super.consume(charges);
      }
    }
    await using app = await open({ platform, store: 'memory' }, { store: new Asked({ clock: () => now }) });
    const clients = [await dial(app.app), await dial(app.app)];
    for (const client of clients) client.resume().write(requestFor('/stream', 'ada'));
    await Promise.all(clients.map((client) => once(client, 'data')));
    // The clock of a lease moves on once both have been renewed, however late that is: in all by more than a lease.
    for (let i = 0; i < 3; i++) {
      const before = asked;
      now += 450_000;
      await until('two renewals', 10_000, () => asked >= before + 2);
    }
    expect((await app.as('ada', '/stream')).status).toBe(429);
    for (const client of clients) client.destroy();
    await untilFree(app.app, 2, STREAMS);
    expect(app.app.get(RateLimitRuntime).parts.leases.size).toBe(0);
  });
});

describe('a concurrency by code', () => {
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
    const other = await limiter.acquire(THREE, ADA);
    both.release();
    both.release();
    expect(await free(app.app)).toBe(2);
    other.release();
    expect(await free(app.app)).toBe(3);
    expect((await limiter.peek(bucket, ADA)).allowed).toBe(false); // what a bucket charged stays charged
  });

  it('that Redis has lost is taken again as soon as a place is free, and the log says so', async () => {
    await using app = await open({ platform: 'Express', store: 'Redis' });
    await using other = await open({ platform: 'Fastify', store: 'Redis' });
    const one: ConcurrencyPolicy = { ...THREE, name: 'one', limit: 1, lease: '3s' };
    const lost = await app.app.get(RateLimiter).acquire(one, ADA);
    await redis.client.flushdb();
    const next = await other.app.get(RateLimiter).acquire(one, ADA);
    expect([lost.allowed, next.allowed]).toEqual([true, true]);
    const warning = `A lease of policy 'one' ended before it was renewed, and none is free: its request is not counted until one is`;
    // Nest logs for all applications of a process to the last one.
    await until('the log says so', 5_000, () => other.logs.text.includes(warning));
    next.release();
    await untilFree(other.app, 0, one); // the lost one is counted again
    lost.release();
    await untilFree(other.app, 1, one);
  });

  it('is not for shards', async () => {
    const shards = { ...THREE, by: 'global', shards: 3 } as const;
    await expect(limited('Express', Routes, { policies: { three: shards } })).rejects.toThrow(
      'shards are not for a concurrency: its state cannot be split',
    );
  });
});

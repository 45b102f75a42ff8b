import type { INestApplication } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConcurrencyPolicy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { type HttpApp, start } from '../../support/http-app.js';
import { nodeWarnings } from '../../support/node-warnings.js';
import { useRedis } from '../../support/redis-fixture.js';
import { type Kind, storeOf } from '../support/kinds.js';

const LEASES = { algorithm: 'concurrency', by: 'user', scope: 'app' } as const;
const THREE: ConcurrencyPolicy = { ...LEASES, name: 'three', limit: 3, lease: '30s' };
const ADA = { kind: 'user', value: 'ada' } as const;

const redis = useRedis();
let warned: () => Promise<string[]>;
beforeEach(() => {
  warned = nodeWarnings();
});
afterEach(async () => {
  const warnings = await warned();
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
});

function open(kind: Kind): Promise<HttpApp> {
  return start(kind.platform, { imports: [RateLimitModule.forRoot(storeOf(kind, redis))] });
}

/** How many more requests of a user would pass. */
async function free(app: INestApplication, policy: ConcurrencyPolicy = THREE): Promise<number> {
  const { policies } = await app.get(RateLimiter).peek(policy, ADA);
  return policies[0]!.remaining;
}

async function untilFree(app: INestApplication, count: number, policy?: ConcurrencyPolicy): Promise<void> {
  await until(`${count} free`, 5_000, async () => (await free(app, policy)) === count);
}

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
});

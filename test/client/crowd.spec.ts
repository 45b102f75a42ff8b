import { Controller, Get, Query, Res } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type Decision,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  RateLimitExceededException,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { rateLimitFetch } from 'nestjs-floodgate/client';
import { Test } from '@nestjs/testing';
import { FROM_HEADERS, type HttpApp, limited } from '../support/http-app.js';
import { randomOf } from '../support/random.js';
import { TestClock } from '../support/test-clock.js';
import { VirtualTime } from './support/virtual-time.js';

jest.setTimeout(60_000);

const CLIENTS = 200;

/** Whole seconds until the limit passes one more request: the draft's `t`. */
function moreAfter(limiter: RateLimiter, policy: Policy & { name: string }): Promise<number> {
  return limiter
    .peek(policy, { kind: 'all', value: 'all' })
    .then(({ retryAfterMs }) => Math.ceil((retryAfterMs ?? 0) / 1000));
}

interface HeaderTarget {
  setHeader(name: string, value: string): void;
}

const POLICIES = {
  bucket: { name: 'bucket', algorithm: 'token-bucket', capacity: 20, refill: 10 },
  one: { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: 10 },
  fast: { name: 'fast', algorithm: 'token-bucket', capacity: 20, refill: 40 },
  window: { name: 'window', algorithm: 'fixed-window', limit: 20, window: '2s' },
  log: { name: 'log', algorithm: 'sliding-window-log', limit: 20, window: '2s' },
  counter: { name: 'counter', algorithm: 'sliding-window-counter', limit: 20, window: '2s' },
  own: { name: 'own', algorithm: 'token-bucket', capacity: 2, refill: 1 },
} as const satisfies Record<string, Policy>;
type Name = keyof typeof POLICIES;

@Controller()
class Routes {
  constructor(private readonly limiter: RateLimiter) {}

  @Get('bucket')
  @RateLimit(POLICIES.bucket)
  bucket(): void {}

  @Get('one')
  @RateLimit(POLICIES.one)
  one(): void {}

  @Get('fast')
  @RateLimit(POLICIES.fast)
  fast(): void {}

  @Get('window')
  @RateLimit(POLICIES.window)
  window(): void {}

  @Get('log')
  @RateLimit(POLICIES.log)
  log(): void {}

  @Get('counter')
  @RateLimit(POLICIES.counter)
  counter(): void {}

  @Get('own')
  @RateLimit(POLICIES.own)
  own(): void {}

  /** The same limits with the fields of the draft. */
  @Get('draft')
  @SkipRateLimit()
  async draft(@Query('policy') name: Name, @Res({ passthrough: true }) response: HeaderTarget): Promise<void> {
    const policy = POLICIES[name];
    const decision: Decision = await this.limiter.consume(policy, { kind: 'all', value: 'all' });
    const { remaining } = decision.policies[0]!;
    response.setHeader('RateLimit', `"${name}";r=${remaining};t=${await moreAfter(this.limiter, policy)}`);
    if (!decision.allowed) throw new RateLimitExceededException(decision);
  }
}

let app: HttpApp | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

interface Outcome {
  /** Virtual milliseconds until the last response. */
  readonly tookMs: number;
  /** For each client, the statuses of its attempts. */
  readonly attempts: readonly (readonly number[])[];
}

interface Crowd {
  readonly path: string;
  readonly shared: boolean;
  readonly seed?: number;
  readonly headers?: (client: number) => Record<string, string>;
  readonly each?: number;
  readonly options?: Parameters<typeof rateLimitFetch>[0];
}

/** 200 clients at once, with one fetch for all of them or one for each. */
async function crowd({ path, shared, seed = 1, headers, each = 1, options }: Crowd): Promise<Outcome> {
  const time = new VirtualTime();
  app = await limited('Express', Routes, {
    store: new MemoryStore({ clock: time.clock }),
    identity: FROM_HEADERS,
  });
  const random = randomOf(seed);
  const attempts: number[][] = [];
  const settings = { time, random: () => random(2 ** 31) / 2 ** 31, maxWaitMs: 600_000, ...options };
  // A fetch learns from a header which call it serves.
  const noted: typeof fetch = async (input, init) => {
    const response = await time.fetch(input, init);
    const call = Number(new Headers(init?.headers).get('X-Call'));
    (attempts[call] ??= []).push(response.status);
    return response;
  };
  const limitedFetch = (): typeof fetch => rateLimitFetch({ ...settings, fetch: noted });
  const gateway = limitedFetch();
  const url = `http://127.0.0.1:${app.port}${path}`;
  const client = async (index: number): Promise<void> => {
    const send = shared ? gateway : limitedFetch();
    await Promise.all(
      Array.from({ length: each }, (_, i) =>
        send(url, { headers: { 'X-Call': String(index * each + i), ...headers?.(index) } }),
      ),
    );
  };
  await time.run(Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index))));
  expect(time.timers).toBe(0);
  return { tookMs: time.now(), attempts };
}

/** Milliseconds in which a limit passes `count` requests, each sent at the first instant at which it passes. */
async function idealOf(policy: Policy & { name: string }, count: number): Promise<number> {
  const clock = new TestClock();
  const module = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ store: new MemoryStore({ clock: clock.read }) })],
  }).compile();
  const limiter = module.get(RateLimiter, { strict: false });
  for (let passed = 0; passed < count;) {
    const { allowed, retryAfterMs } = await limiter.consume(policy, { kind: 'all', value: 'all' });
    if (allowed) passed++;
    else clock.now += retryAfterMs! * 1000;
  }
  await module.close();
  return clock.now / 1000;
}

describe('200 clients behind one fetch, for one limit', () => {
  it.each<{ path: string; seed?: number; share?: number }>([
    { path: '/bucket' },
    { path: '/bucket', seed: 2 },
    { path: '/one' },
    { path: '/fast' },
    { path: '/window' },
    { path: '/counter' },
    { path: '/draft?policy=bucket' },
    { path: '/draft?policy=bucket', seed: 2 },
    { path: '/draft?policy=one' },
    { path: '/draft?policy=fast' },
    { path: '/draft?policy=window' },
    { path: '/draft?policy=log' },
    // The triple tells only when all of a log's limit is back, and the counter's next request passes within the draft's second.
    { path: '/log', share: 1.25 },
    { path: '/draft?policy=counter', share: 1.25 },
  ])('$path: none is rejected twice, and all are through in time', async ({ path, seed, share = 1.1 }) => {
    const idealMs = await idealOf(POLICIES[path.replace(/.*[=/]/, '') as Name], CLIENTS);
    const { tookMs, attempts } = await crowd({ path, shared: true, ...(seed !== undefined && { seed }) });
    expect(attempts).toHaveLength(CLIENTS);
    expect(attempts.filter((statuses) => statuses.at(-1) !== 200)).toEqual([]);
    expect(attempts.filter((statuses) => statuses.length > 2)).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(idealMs);
    expect(tookMs).toBeLessThanOrEqual(share * idealMs);
  });
});

describe('200 clients with a fetch of their own', () => {
  it('and a limit of their own: none is rejected twice, and all are through in time', async () => {
    const { tookMs, attempts } = await crowd({
      path: '/own',
      shared: false,
      each: 5,
      headers: (client) => ({ 'X-User-Id': `rider-${client}` }),
    });
    const idealMs = await idealOf(POLICIES.own, 5);
    expect(attempts).toHaveLength(5 * CLIENTS);
    expect(attempts.filter((statuses) => statuses.at(-1) !== 200)).toEqual([]);
    expect(attempts.filter((statuses) => statuses.length > 2)).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(idealMs);
    expect(tookMs).toBeLessThanOrEqual(1.1 * idealMs);
  });

  // A bucket tells all of them the same instant, at which one of them passes: rejections in a row cannot be avoided. The spread
  // of the waits doubles until it fits the number of clients, which none of them knows.
  it.each([1, 2])('and one limit for all: all are through within twice the ideal time (seed %i)', async (seed) => {
    const patient = { maxAttempts: 100, maxWaitMs: 600_000 };
    const { tookMs, attempts } = await crowd({ path: '/bucket', shared: false, seed, options: patient });
    const idealMs = await idealOf(POLICIES.bucket, CLIENTS);
    expect(attempts.filter((statuses) => statuses.at(-1) !== 200)).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(idealMs);
    expect(tookMs).toBeLessThanOrEqual(2 * idealMs);
    expect(attempts.flat().length / CLIENTS).toBeLessThan(10);
  });
});

import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryStore, type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { rateLimitFetch } from 'floodgate-client';
import { Test } from '@nestjs/testing';
import { FROM_HEADERS, type HttpApp, limited } from '../support/http-app.js';
import { randomOf } from '../support/random.js';
import { TestClock } from '../support/test-clock.js';
import { VirtualTime } from '../../libs/client/test-support/virtual-time.js';

/** The crowd of docs/client.md. */
const CROWD = 200;

/** Enough for several refills of every limit. */
const FEWER = 60;

const POLICIES = {
  bucket: { name: 'bucket', algorithm: 'token-bucket', capacity: 20, refill: 10 },
  window: { name: 'window', algorithm: 'fixed-window', limit: 20, window: '2s' },
  log: { name: 'log', algorithm: 'sliding-window-log', limit: 20, window: '2s' },
  counter: { name: 'counter', algorithm: 'sliding-window-counter', limit: 20, window: '2s' },
  own: { name: 'own', algorithm: 'token-bucket', capacity: 2, refill: 1 },
} as const satisfies Record<string, Policy>;
type Name = keyof typeof POLICIES;

/** Rejects none of the crowd. On a rejection by the bucket, `RateLimit` has no `t` of this policy. */
const DAILY = { name: 'daily', algorithm: 'fixed-window', limit: 1000, window: '1d' } as const satisfies Policy;

@Controller()
class Routes {
  @Get('bucket')
  @RateLimit(POLICIES.bucket)
  bucket(): void {}

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

  @Get('two')
  @RateLimit(POLICIES.bucket, DAILY)
  two(): void {}
}

let app: HttpApp | undefined;

afterEach(async () => {
  jest.restoreAllMocks();
  await app?.close();
  app = undefined;
});

/** The formats of the module that the client reads: a field of each that the other does not have, and a seed. */
const FORMATS = {
  'x-ratelimit': { mark: 'X-RateLimit-Remaining', seed: 1 },
  'draft-11': { mark: 'RateLimit', seed: 2 },
} as const;
type Format = keyof typeof FORMATS;
const NAMES = Object.keys(FORMATS) as Format[];

interface Outcome {
  /** Virtual milliseconds until the last response. */
  readonly tookMs: number;
  /** For each call, the statuses of its attempts. */
  readonly attempts: readonly (readonly number[])[];
}

interface Crowd {
  readonly path: string;
  /** The module's option `headers`. */
  readonly format: Format;
  readonly clients: number;
  readonly shared: boolean;
  readonly headers?: (client: number) => Record<string, string>;
  readonly each?: number;
  readonly options?: Parameters<typeof rateLimitFetch>[0];
}

/** Clients that all begin at once, with one fetch for all of them or one for each. */
async function crowd({ path, format, clients, shared, headers, each = 1, options }: Crowd): Promise<Outcome> {
  const time = new VirtualTime();
  // The application's clock runs as fast as its store's: its answers name instants.
  jest.spyOn(Date, 'now').mockImplementation(time.wallNow);
  app = await limited('Express', Routes, {
    store: new MemoryStore({ clock: time.clock }),
    identity: FROM_HEADERS,
    headers: format,
  });
  const random = randomOf(FORMATS[format].seed);
  const attempts: number[][] = [];
  const formats = new Set<string>();
  const settings = { time, random: () => random(2 ** 31) / 2 ** 31, maxWait: '600s', ...options };
  // A fetch learns from a header which call it serves.
  const noted: typeof fetch = async (input, init) => {
    const response = await time.fetch(input, init);
    response.headers.set('Date', new Date(time.wallNow()).toUTCString()); // Node writes the real one
    const call = Number(new Headers(init?.headers).get('X-Call'));
    (attempts[call] ??= []).push(response.status);
    formats.add(NAMES.filter((name) => response.headers.has(FORMATS[name].mark)).join());
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
  await time.run(Promise.all(Array.from({ length: clients }, (_, index) => client(index))));
  expect(time.timers).toBe(0);
  expect([...formats]).toEqual([format]);
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

describe('clients behind one fetch, for one limit', () => {
  it.each<{ name: Name | 'two'; format: Format; clients?: number; share?: number }>([
    { name: 'bucket', format: 'x-ratelimit', clients: CROWD },
    { name: 'window', format: 'x-ratelimit' },
    { name: 'counter', format: 'x-ratelimit' },
    { name: 'two', format: 'draft-11', clients: CROWD },
    // The module's `t` of a sliding window is the time until all of the limit is back: an upper bound of the time until the next
    // request passes. The log forgets a burst as a whole, so for a crowd this bound is exact.
    { name: 'log', format: 'draft-11' },
    // The counter forgets a burst bit by bit in the next window: `t` is up to two windows, and the next request would pass
    // sooner. The client believes `t`, so it gets less than one limit per window.
    { name: 'counter', format: 'draft-11', clients: CROWD, share: 1.8 },
  ])('$name, $format: none is rejected twice, and all are through in time', async (row) => {
    const { name, format, clients = FEWER, share = 1.1 } = row;
    const idealMs = await idealOf(POLICIES[name === 'two' ? 'bucket' : name], clients);
    const { tookMs, attempts } = await crowd({ path: `/${name}`, format, clients, shared: true });
    expect(attempts).toHaveLength(clients);
    expect(attempts.filter((statuses) => statuses.at(-1) !== 200)).toEqual([]);
    expect(attempts.filter((statuses) => statuses.length > 2)).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(idealMs);
    expect(tookMs).toBeLessThanOrEqual(share * idealMs);
  });
});

describe('clients with a fetch of their own', () => {
  // A bucket tells all of them the same instant, at which one of them passes: rejections in a row cannot be avoided. The spread
  // of the waits doubles until it fits the number of clients, which none of them knows.
  it.each(NAMES)('and one limit for all, %s: all are through within twice the ideal time', async (format) => {
    const options = { maxAttempts: 100 };
    const { tookMs, attempts } = await crowd({ path: '/bucket', format, clients: CROWD, shared: false, options });
    const idealMs = await idealOf(POLICIES.bucket, CROWD);
    expect(attempts.filter((statuses) => statuses.at(-1) !== 200)).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(idealMs);
    expect(tookMs).toBeLessThanOrEqual(2 * idealMs);
    expect(attempts.flat().length / CROWD).toBeLessThan(10);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import {
  CallWaitError,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { start } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const LATE_MS = 500;
const PARTNER: Policy = { name: 'partner', algorithm: 'fixed-window', limit: 100, window: '30d', by: 'global' };
const BUCKET: Policy = { name: 'bucket', algorithm: 'token-bucket', capacity: 10, refill: 100, by: 'global' };

let server: RedisServer;

beforeEach(async () => {
  server = await RedisServer.start();
});
afterEach(() => server.stop());

interface Opened extends AsyncDisposable {
  readonly limiter: RateLimiter;
}

async function open(options: RateLimitModuleOptions = {}): Promise<Opened> {
  const app = await start('Express', { imports: [RateLimitModule.forRoot({ redis: server.url, ...options })] });
  return { limiter: app.app.get(RateLimiter), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

interface Ended {
  readonly ms: number;
  readonly error: unknown;
}

async function timed(limiter: RateLimiter, policy: Policy, maxWaitMs: number): Promise<Ended> {
  const since = performance.now();
  const ran = limiter.schedule(policy, () => undefined, { maxWaitMs });
  const error = await ran.catch((thrown: unknown) => thrown);
  return { ms: performance.now() - since, error };
}

it.each([
  ['is killed', (): Promise<void> => server.stop()],
  ['hangs', async (): Promise<void> => server.pause()], // a stopped process is killed all the same
])('while Redis %s, each process goes on with its share, and no call waits longer than it may', async (_, fail) => {
  await using opened = await open({ localShare: 4 });
  const { limiter } = opened;
  await timed(limiter, PARTNER, 1_000);
  await fail();
  const ended = await Promise.all(Array.from({ length: 40 }, async () => timed(limiter, PARTNER, 400)));
  expect(ended.filter(({ error }) => error === undefined)).toHaveLength(25);
  expect(ended.filter(({ error }) => error instanceof CallWaitError)).toHaveLength(15);
  for (const { ms } of ended) expect(ms).toBeLessThan(400 + LATE_MS);
});

it("calls under 'closed' wait out a short outage in their order, and fail within maxWaitMs in a longer one", async () => {
  await using opened = await open({ onStoreFailure: 'closed' });
  const { limiter } = opened;
  const ran: number[] = [];
  const calls = Array.from({ length: 60 }, async (_, i) =>
    limiter.schedule(BUCKET, () => void ran.push(i), { maxWaitMs: 20_000 }),
  );
  await delay(100);
  server.pause();
  const lost = await Promise.all(Array.from({ length: 5 }, async () => timed(limiter, BUCKET, 300)));
  for (const { error, ms } of lost) {
    expect(error).toBeInstanceOf(CallWaitError);
    expect(ms).toBeLessThan(300 + LATE_MS);
  }
  expect(ran.length).toBeLessThan(60);
  server.resume();
  await Promise.all(calls);
  expect(ran).toHaveLength(60);
});

it('a process without Redis pauses by itself, and says so', async () => {
  await using opened = await open();
  const { limiter } = opened;
  await timed(limiter, BUCKET, 1_000);
  await server.stop();
  expect(await limiter.pause(BUCKET, null, { ms: 700 })).toBe(false);
  const { error, ms } = await timed(limiter, BUCKET, 5_000);
  expect(error).toBeUndefined();
  expect(ms).toBeGreaterThan(400);
});

import { expect, it } from '@jest/globals';
import { CallWaitError, type Policy, type RateLimiter } from 'nestjs-floodgate';
import { useOneRedis } from '../support/faults/one-redis.js';
import { until } from '../support/faults/until.js';

const LIMIT_MS = 20_000;
const PARTNER: Policy = { name: 'partner', algorithm: 'fixed-window', limit: 100, window: '30d', by: 'global' };
const BUCKET: Policy = { name: 'bucket', algorithm: 'token-bucket', capacity: 10, refill: 100, by: 'global' };

const on = useOneRedis();

/** Runs a call, and tells how it ended. */
function ended(limiter: RateLimiter, policy: Policy, maxWait: number): Promise<unknown> {
  return limiter.schedule(policy, () => 'ran', { maxWait }).catch((error: unknown) => error);
}

it.each([
  ['is killed', (): unknown => on.server.kill()],
  ['hangs', (): unknown => on.server.pause()],
])('while Redis %s, each process goes on with its share, and the other calls fail', async (_, fail) => {
  const { limiter } = await on.start({ localShare: 4 });
  await ended(limiter, PARTNER, LIMIT_MS);
  await fail();
  const ends = await Promise.all(Array.from({ length: 40 }, () => ended(limiter, PARTNER, 2_000)));
  expect(ends.filter((end) => end === 'ran')).toHaveLength(25);
  expect(ends.filter((end) => end instanceof CallWaitError)).toHaveLength(15);
});

it("calls under 'closed' wait out a short outage, and fail within maxWait in a longer one", async () => {
  const { limiter } = await on.start({ onStoreFailure: 'closed' });
  const ran: number[] = [];
  const calls = Array.from({ length: 60 }, (_, i) =>
    limiter.schedule(BUCKET, () => void ran.push(i), { maxWait: LIMIT_MS }),
  );
  await until('some have run', LIMIT_MS, () => ran.length > 0);
  on.server.pause();
  const lost = await Promise.all(Array.from({ length: 5 }, () => ended(limiter, BUCKET, 300)));
  for (const end of lost) expect(end).toBeInstanceOf(CallWaitError);
  on.server.resume();
  await Promise.all(calls);
  expect(ran.toSorted((a, b) => a - b)).toEqual(calls.map((_, i) => i));
});

it('a process without Redis pauses by itself, and says so', async () => {
  const { limiter } = await on.start();
  await ended(limiter, BUCKET, LIMIT_MS);
  await on.server.kill();
  const since = performance.now();
  expect(await limiter.pause(BUCKET, null, { for: 700 })).toBe(false);
  expect(await ended(limiter, BUCKET, LIMIT_MS)).toBe('ran');
  expect(performance.now() - since).toBeGreaterThan(690);
});

import { Controller, Get } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { limited, PLATFORMS } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

const PER_SECOND = 20;

@Controller()
class Routes {
  @Get('bucket')
  @RateLimit({ algorithm: 'token-bucket', capacity: 100, refill: PER_SECOND })
  bucket(): void {}

  @Get('slow-bucket')
  @RateLimit({ algorithm: 'token-bucket', capacity: 100, refill: '1/d' })
  slowBucket(): void {}

  @Get('log')
  @RateLimit({ algorithm: 'sliding-window-log', limit: 100, window: '1d' })
  log(): void {}

  @Get('several')
  @RateLimit(
    { name: 'a', algorithm: 'sliding-window-counter', limit: 150, window: '300d' },
    { name: 'b', algorithm: 'fixed-window', limit: 100, window: '300d' },
    { name: 'c', algorithm: 'token-bucket', capacity: 120, refill: '1/d' },
  )
  several(): void {}
}

const redis = useRedis();

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['MemoryStore', () => ({})],
  ['Redis', () => ({ redis: redis.server.url, onStoreFailure: 'closed' })],
];

/**
 * The number of requests that the store may have admitted: every 200 and every 503. On a busy machine an answer of Redis can
 * miss the deadline. The response is then a 503, whatever Redis decided. Without a 503 the number of 200s is exact.
 */
function possiblyAdmitted(counts: Readonly<Record<number, number>>): number {
  const { 200: admitted = 0, 429: rejected = 0, 503: unavailable = 0 } = counts;
  expect(Object.keys(counts).filter((status) => !['200', '429', '503'].includes(status))).toEqual([]);
  expect(rejected).toBeGreaterThan(0);
  return admitted + unavailable;
}

describe.each(PLATFORMS)('over %s, 1,000 concurrent requests of one client', (platform) => {
  describe.each(STORES)('on %s', (_, options) => {
    it('are admitted up to the capacity and the tokens that refill meanwhile, never one more', async () => {
      await using app = await limited(platform, Routes, options());
      const since = performance.now();
      const { 200: admitted, ...others } = await app.crowd(1000, '/bucket');
      const seconds = (performance.now() - since) / 1000;
      expect(admitted).toBeLessThanOrEqual(100 + Math.floor(seconds * PER_SECOND));
      expect(possiblyAdmitted({ 200: admitted!, ...others })).toBeGreaterThanOrEqual(100);
    });

    it.each(['/slow-bucket', '/log', '/several'])('are admitted exactly to the limit: %s', async (path) => {
      await using app = await limited(platform, Routes, options());
      const counts = await app.crowd(1000, path);
      expect(counts[200]).toBeLessThanOrEqual(100);
      expect(possiblyAdmitted(counts)).toBeGreaterThanOrEqual(100);
    });
  });

  it('to two pods that share a Redis are admitted exactly to one limit', async () => {
    await using first = await limited(platform, Routes, STORES[1]![1]());
    await using second = await limited(platform, Routes, STORES[1]![1]());
    const [a, b] = await Promise.all([first.crowd(500, '/several'), second.crowd(500, '/several')]);
    expect(a[200]! + b[200]!).toBeLessThanOrEqual(100);
    expect(possiblyAdmitted(a) + possiblyAdmitted(b)).toBeGreaterThanOrEqual(100);
  });
});

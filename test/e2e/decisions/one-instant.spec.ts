import { Controller, Get } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { limited, PLATFORMS } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

jest.setTimeout(60_000);

@Controller()
class Routes {
  @Get('window')
  @RateLimit({ name: 'window', algorithm: 'fixed-window', limit: 5, window: '300d' })
  window(): void {}

  @Get('behind')
  @RateLimit({ name: 'roomy', algorithm: 'fixed-window', limit: 1_000_000, window: '100d' })
  behind(): void {}
}

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({})],
  ['in Redis', () => ({ redis: server.url, deadline: '10s', keyPrefix: `o${Math.random()}` })],
];
const CASES = PLATFORMS.flatMap((platform) => STORES.map(([name, options]) => [platform, name, options] as const));

describe.each(CASES)('over %s, %s, all answers of one window name one instant', (platform, _, options) => {
  it.each([
    ['of a route, allowed, rejected and from the denial cache', '/window', 200],
    ['of the middleware, in front of a route', '/behind', 200],
  ])('%s', async (__, path, count) => {
    await using app = await limited(platform, Routes, {
      ...options(),
      middleware: [
        { name: 'all', algorithm: 'fixed-window', limit: path === '/behind' ? 1000 : 1_000_000, window: '200d' },
      ],
    });
    const resets = new Set<unknown>();
    for (let i = 0; i < count; i++) resets.add((await app.send(path)).headers['x-ratelimit-reset']);
    expect(resets.size).toBe(1);
    // Windows are aligned to the clock.
    expect(Number([...resets][0]) % 86_400).toBe(0);
  });
});

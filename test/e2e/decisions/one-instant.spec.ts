import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';

@Controller()
class Routes {
  @Get('window')
  @RateLimit({ name: 'window', algorithm: 'fixed-window', limit: 5, window: '300d' })
  window(): void {}

  @Get('behind')
  @RateLimit({ name: 'roomy', algorithm: 'fixed-window', limit: 1_000_000, window: '100d' })
  behind(): void {}
}

const redis = useRedis();

describe.each(KINDS)('over $platform with $store, all answers of one window name one instant', (kind) => {
  it.each([
    ['of a route, allowed, rejected and from the denial cache', '/window', 20],
    ['of the middleware, in front of a route', '/behind', 20],
  ])('%s', async (_, path, count) => {
    await using app = await limited(kind.platform, Routes, {
      ...storeOf(kind, redis),
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

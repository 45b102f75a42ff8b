import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimit } from 'nestjs-floodgate';
import { left, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

@Controller()
class Routes {
  @Get('one')
  @RateLimit({ name: 'one', algorithm: 'token-bucket', capacity: 2, refill: '1/70ms' })
  one(): string {
    return 'passed';
  }

  @Get('both')
  @RateLimit(
    { name: 'sooner', algorithm: 'token-bucket', capacity: 2, refill: '1/2500ms' },
    { name: 'later', algorithm: 'fixed-window', limit: 2, window: '1m' },
    { name: 'roomy', algorithm: 'fixed-window', limit: 100, window: '1h' },
  )
  both(): void {}
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(PLATFORMS)('over %s, responses', (platform) => {
  it('carry limit, remaining and reset when allowed and when rejected, and Retry-After only when rejected', async () => {
    await using app = await limited(platform, Routes, { store: new StillStore() });
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push(await app.send('/one'));
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(seen.map(({ headers }) => headers['x-ratelimit-limit'])).toEqual(['2', '2', '2']);
    expect(seen.map(left)).toEqual([1, 0, 0]);
    expect(seen.map(({ headers }) => headers['retry-after'])).toEqual([undefined, undefined, '1']);
    expect(seen[0]!.text).toBe('passed');
  });

  it.each([
    [0, 1],
    [930, 1],
    [930.5, 2],
  ])(
    'carry a reset of ceil(wall clock + resetAfter): received %d ms past a second, full 70 ms later, %d s past it',
    async (ms, seconds) => {
      await using app = await limited(platform, Routes, { store: new StillStore() });
      const second = 1_800_000_000;
      jest.spyOn(Date, 'now').mockReturnValue(second * 1000 + ms);
      expect((await app.send('/one')).headers['x-ratelimit-reset']).toBe(String(second + seconds));
    },
  );

  it('have exactly the documented body at 429, with exact milliseconds', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store });
    await app.send('/one');
    await app.send('/one');
    expect((await app.send('/one')).text).toBe(
      '{"statusCode":429,"error":"rate_limit_exceeded","message":"Too many requests, retry in 1 second","retry_after":1,' +
        '"retry_after_ms":70,"policy":"one"}',
    );
    store.advance(69.999);
    expect((await app.send('/one')).body).toMatchObject({ retry_after: 1, retry_after_ms: 0.001 });
    store.advance(0.001);
    expect((await app.send('/one')).status).toBe(200);
  });

  it('carry the longest Retry-After of the rejecting policies, in whole seconds rounded up', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store });
    await app.send('/both');
    await app.send('/both');
    store.advance(1200);
    const { headers, body } = await app.send('/both');
    expect(headers['retry-after']).toBe('59');
    expect(body).toMatchObject({ policy: 'later', retry_after: 59, retry_after_ms: 58_800 });
  });
});

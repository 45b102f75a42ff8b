import { Controller, Get, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';

const ONE: Policy = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '300d' };

@Controller('guarded')
@UseGuards(RateLimitGuard)
class Guarded {
  @Get()
  @RateLimit(ONE)
  get(): void {}
}

@Controller('forgotten')
class Forgotten {
  @Get()
  @RateLimit(ONE)
  get(): void {}

  @Get('free')
  free(): void {}
}

describe('with guard: false', () => {
  it('boot names the handlers whose policies no guard stands before', async () => {
    await using app = await limited('Express', [Guarded, Forgotten], { guard: false });
    expect(app.logs.of('warn')).toEqual([
      expect.stringContaining('No RateLimitGuard stands before Forgotten.get, so the policies there limit nothing'),
    ]);
    for (const [path, statuses] of [
      ['/guarded', [200, 429]],
      ['/forgotten', [200, 200]],
    ] as const) {
      expect([(await app.send(path)).status, (await app.send(path)).status]).toEqual(statuses);
    }
  });
});

import { Controller, Get, Injectable, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { limited, start } from '../../support/http-app.js';

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

describe("with the module's own guard", () => {
  it('boot names the handlers whose own guard comes too late to do anything', async () => {
    @Injectable()
    class InternalsPass extends RateLimitGuard {
      protected override shouldSkip(): boolean {
        return true;
      }
    }

    @Controller('internals')
    class Internals {
      @Get()
      @UseGuards(InternalsPass)
      @RateLimit(ONE)
      get(): void {}
    }
    await using app = await limited('Express', [Guarded, Forgotten, Internals]);
    expect(app.logs.of('warn')).toEqual([
      expect.stringContaining(
        'Guarded.get, Internals.get: RateLimitGuard and InternalsPass have no effect there, because a RateLimitGuard is bound ' +
          'for all routes and decides before. Leave them out; or bind none for all routes (guard: false in RateLimitModule), and ' +
          'one wherever a policy stands',
      ),
    ]);
    expect([(await app.send('/internals')).status, (await app.send('/internals')).status]).toEqual([200, 429]);
  });

  it('boot is silent where a guard of the application is bound for all routes, and may skip', async () => {
    @Injectable()
    class SkipsSome extends RateLimitGuard {}
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ guard: false })],
      controllers: [Guarded],
      providers: [{ provide: APP_GUARD, useClass: SkipsSome }],
    });
    expect(app.logs.of('warn')).toEqual([]);
  });
});

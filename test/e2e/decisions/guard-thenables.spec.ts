import { Controller, Get, Injectable } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { PLATFORMS, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

@Controller()
class Routes {
  @Get()
  get(): void {}
}

/** The least that `await` takes: its `then` returns nothing. */
function thenable<T>(value: T): Promise<T> {
  // oxlint-disable-next-line unicorn/no-thenable -- this is what some libraries return in place of a promise
  return { then: (resolve: (value: T) => void) => void setTimeout(() => resolve(value), 1) } as unknown as Promise<T>;
}

@Injectable()
class OwnGuard extends RateLimitGuard {
  protected override shouldSkip(): Promise<boolean> {
    return thenable(false);
  }

  protected override identityTag(): Promise<string> {
    return thenable('user:ada');
  }
}

describe.each(PLATFORMS)('steps of the guard that return the least of a promise, over %s', (platform) => {
  it.each([1, 2])('limit as promises do, with %d policies', async (count) => {
    const defaults = ['one', 'two']
      .slice(0, count)
      .map((name) => ({ name, algorithm: 'token-bucket', capacity: 2, refill: '1/h' }) as const);
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store: new StillStore(), guard: false, defaults })],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: OwnGuard }],
    });
    expect(await app.crowd(4, '/')).toEqual({ 200: 2, 429: 2 });
  });
});

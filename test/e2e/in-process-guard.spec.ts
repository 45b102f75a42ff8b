import { createHook } from 'node:async_hooks';
import { Controller, type ExecutionContext, Get, UseGuards } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, PLATFORMS, start } from '../support/http-app.js';

/** What the guard returned to each request, and the promises that were made meanwhile. */
const seen: { returned: unknown; promises: number }[] = [];

class CountingGuard extends RateLimitGuard {
  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    let promises = 0;
    const hook = createHook({
      init(_, type) {
        if (type === 'PROMISE') promises++;
      },
    }).enable();
    let returned: unknown;
    try {
      return (returned = super.canActivate(context));
    } finally {
      hook.disable();
      seen.push({ returned, promises });
    }
  }
}

@Controller()
@UseGuards(CountingGuard)
class Routes {
  @Get('one')
  @RateLimit({ algorithm: 'token-bucket', capacity: 3, refill: '1/h', by: 'user' })
  one(): void {}

  @Get('two')
  @RateLimit(
    { name: 'minute', algorithm: 'fixed-window', limit: 3, window: '300d' },
    { name: 'day', algorithm: 'sliding-window-log', limit: 5, window: '300d' },
  )
  two(): void {}
}

describe.each(PLATFORMS)('the guard over MemoryStore (%s)', (platform) => {
  let http: HttpApp;

  beforeAll(async () => {
    http = await start(platform, {
      imports: [RateLimitModule.forRoot({ guard: false, identity: FROM_HEADERS })],
      controllers: [Routes],
    });
  });

  afterAll(() => http.close());

  it.each(['/one', '/two'])('makes no promise for a request that passes (%s)', async (path) => {
    seen.length = 0;
    for (let i = 0; i < 4; i++) await http.send(path);
    expect(seen.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => ({ returned: true, promises: 0 })));
    expect(seen[3]).toMatchObject({ returned: undefined }); // it threw the rejection
  });
});

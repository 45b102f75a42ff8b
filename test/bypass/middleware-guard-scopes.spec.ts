import { Controller, type ExecutionContext, Get, Injectable, type Provider, Scope } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

@Controller()
class Routes {
  @Get()
  get(): void {}
}

/** A subclass of this scope that skips requests with a header. */
function subclassOf(scope: Scope): new () => RateLimitGuard {
  @Injectable({ scope })
  class OwnGuard extends RateLimitGuard {
    protected override shouldSkip(context: ExecutionContext): boolean {
      const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
      return headers['x-internal'] === 'yes';
    }
  }
  return OwnGuard;
}

const options = () => ({
  store: new StillStore(),
  middleware: [{ name: 'address', algorithm: 'token-bucket', capacity: 2, refill: '1/h' } as const],
  guard: false,
});

describe.each(PLATFORMS)('with a guard that Nest makes anew, over %s', (platform) => {
  it.each<[string, Scope, (guard: new () => RateLimitGuard) => Provider[]]>([
    ['request-scoped provider', Scope.REQUEST, (guard) => [guard]],
    ['request-scoped APP_GUARD', Scope.REQUEST, (useClass) => [{ provide: APP_GUARD, useClass }]],
    ['request-scoped APP_GUARD', Scope.REQUEST, (guard) => [guard, { provide: APP_GUARD, useExisting: guard }]],
    ['transient provider', Scope.TRANSIENT, (guard) => [guard]],
    ['transient APP_GUARD', Scope.TRANSIENT, (useClass) => [{ provide: APP_GUARD, useClass }]],
  ])("the library's own answers for the middleware, and boot says so: a %s", async (_, scope, providers) => {
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot(options())],
      controllers: [Routes],
      providers: providers(subclassOf(scope)),
    });
    expect(app.logs.of('warn')).toEqual([
      'RateLimitModule, middleware: OwnGuard does not answer for it, because Nest makes that guard anew for each request or ' +
        'place: give it the default scope RateLimit',
    ]);
    const internal = { headers: { 'X-Internal': 'yes' } };
    const replies = [await app.send('/'), await app.send('/', internal), await app.send('/nothing', internal)];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(app.logs.of('error')).toEqual([]);
  });
});

it('a test that replaces the guard leaves the middleware as it is', async () => {
  const testing = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot(options())],
    controllers: [Routes],
  })
    .overrideProvider(RateLimitGuard)
    .useValue({ canActivate: () => true })
    .compile();
  const app = testing.createNestApplication();
  await app.listen(0, '127.0.0.1');
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await fetch(await app.getUrl())).status);
  await app.close();
  expect(statuses).toEqual([200, 200, 429]);
});

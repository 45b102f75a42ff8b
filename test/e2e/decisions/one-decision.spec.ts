import { Controller, Get, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, start } from '../../support/http-app.js';
import { policiesOf, ToldStore } from '../../support/told-store.js';

const DEADLINE_MS = 50;
const WINDOW = { algorithm: 'fixed-window', window: '1h', limit: 20 } as const;
const SHARED = { ...WINDOW, name: 'shared', scope: 'app' } as const satisfies Policy;

@Controller()
@UseGuards(RateLimitGuard)
class Routes {
  @Get('shared')
  @UseGuards(RateLimitGuard)
  @RateLimit(SHARED)
  shared(): void {}

  @Get('own')
  @RateLimit({ ...WINDOW, name: 'own' })
  own(): void {}

  @Get('closed')
  @RateLimit({ ...SHARED, onStoreFailure: 'closed' })
  closed(): void {}
}

function begin(options: RateLimitModuleOptions): Promise<HttpApp> {
  const limiter = RateLimitModule.forRoot({
    deadline: DEADLINE_MS,
    middleware: [{ ...SHARED, name: 'all' }],
    ...options,
  });
  return start('Express', { imports: [limiter], controllers: [Routes] });
}

/** The middleware and three guards see each request: one for all routes, and two that are bound. A wait is one deadline for each ask. */
describe('a request that passes the limiter several times while the store hangs', () => {
  it.each(['open', 'local'] as const)('asks it once, and once for the next request: %s', async (onStoreFailure) => {
    const store = ToldStore.hanging();
    await using app = await begin({ store, onStoreFailure });
    for (const path of ['/shared', '/own']) expect((await app.send(path)).status).toBe(200);
    expect(policiesOf(store.asked)).toEqual([['all'], ['all']]);
  });

  it('gets a 503 where the route has no use for what the middleware let pass', async () => {
    const store = ToldStore.hanging();
    await using app = await begin({ store, onStoreFailure: 'open' });
    expect((await app.send('/closed')).status).toBe(503);
    expect(store.asked).toHaveLength(1);
  });
});

import { Controller, Get, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, PLATFORMS, type Platform, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';
import { policiesOf, ToldStore } from '../../support/told-store.js';
import { measured } from '../../support/turning-time.js';

const DEADLINE_MS = 300;
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

  @Get('dearer')
  @RateLimit(() => ({ ...SHARED, cost: 5 }))
  dearer(): void {}

  @Get('closed')
  @RateLimit({ ...SHARED, onStoreFailure: 'closed' })
  closed(): void {}
}

function begin(platform: Platform, options: RateLimitModuleOptions): Promise<HttpApp> {
  const limiter = RateLimitModule.forRoot({ deadline: DEADLINE_MS, middleware: [SHARED], ...options });
  return start(platform, { imports: [limiter], controllers: [Routes] });
}

/** The middleware and three guards see each request: one for all routes, and two that are bound. */
describe.each(PLATFORMS)('a request that passes the limiter several times over %s', (platform) => {
  it.each(['open', 'local'] as const)('waits for one deadline while the store hangs: %s', async (onStoreFailure) => {
    const store = ToldStore.hanging();
    await using app = await begin(platform, { store, onStoreFailure });
    for (const path of ['/shared', '/own', '/dearer']) {
      const { result, ms } = await measured(() => app.send(path));
      expect([result.status, ms < DEADLINE_MS * 1.8]).toEqual([200, true]);
    }
    expect(policiesOf(store.asked)).toEqual([['shared'], ['shared'], ['shared']]);
  });

  it('asks a store that fails once for each policy', async () => {
    const store = ToldStore.failing();
    await using app = await begin(platform, { store, onStoreFailure: 'open' });
    expect((await app.send('/shared')).status).toBe(200);
    expect((await app.send('/own')).status).toBe(200);
    expect(policiesOf(store.asked)).toEqual([['shared'], ['shared'], ['own']]);
  });

  it('answers 503 where the route has no use for what the middleware let pass', async () => {
    await using app = await begin(platform, { store: ToldStore.hanging(), onStoreFailure: 'open' });
    const { result, ms } = await measured(() => app.send('/closed'));
    expect([result.status, ms < DEADLINE_MS * 1.8]).toEqual([503, true]);
  });

  it('asks the store again for the next request', async () => {
    const store = new StillStore();
    let hangs = true;
    const told = new ToldStore((charges) => (hangs ? new Promise(() => {}) : store.consume(charges)));
    await using app = await begin(platform, { store: told, onStoreFailure: 'open' });
    expect((await app.send('/shared')).headers['x-ratelimit-remaining']).toBeUndefined();
    hangs = false;
    expect((await app.send('/shared')).headers['x-ratelimit-remaining']).toBe('19');
  });
});

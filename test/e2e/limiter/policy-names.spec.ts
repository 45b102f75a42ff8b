import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { FROM_HEADERS, limited } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ADA = { kind: 'user', value: 'ada' };
const TWO = { algorithm: 'fixed-window', limit: 2, window: '300d' } as const satisfies Policy;

@Controller()
class Routes {
  @Get('mine')
  @RateLimit({ ...TWO, name: 'mine' })
  mine(): void {}

  @Get('one')
  @RateLimit({ ...TWO, name: 'twice' })
  one(): void {}

  @Get('other')
  @RateLimit({ ...TWO, name: 'twice' })
  other(): void {}

  @Get('app')
  @RateLimit({ ...TWO, name: 'everywhere', scope: 'app' })
  app(): void {}
}

const open = () =>
  limited('Express', Routes, { store: new StillStore(), policies: { named: TWO }, identity: FROM_HEADERS });

describe('the name of a policy that a route has', () => {
  it('is known to every method that looks at a state', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    await app.as('ada', '/mine');
    expect((await limiter.peek('mine', ADA)).policies).toMatchObject([{ policy: 'mine', remaining: 1 }]);
    expect((await limiter.peek(['mine', 'named'], ADA)).policies).toMatchObject([{ remaining: 1 }, { remaining: 2 }]);
    expect((await limiter.explain('mine', ADA)).policies).toMatchObject([{ policy: 'mine', level: { used: 1 } }]);
    const cleared = [{ policy: 'mine', scope: 'GET /mine', found: true }];
    expect(await limiter.reset(['mine', 'everywhere'], ADA)).toMatchObject([
      cleared[0],
      { scope: 'app', found: false },
    ]);
    await app.as('ada', '/mine');
    expect(await limiter.reset('mine', ADA)).toEqual(cleared);
  });

  it('is known to every method that charges, where the policy counts across the application', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    await app.as('ada', '/app');
    expect((await limiter.consume('everywhere', ADA)).policies).toMatchObject([{ remaining: 0 }]);
    expect((await app.as('ada', '/app')).status).toBe(429);
    expect((await limiter.reserve('everywhere', ADA)).allowed).toBe(false);
    expect(await limiter.pause('everywhere', ADA, { for: 60_000 })).toBe(true);
  });

  it.each(['consume', 'reserve', 'pause'] as const)('of one route is no name for %s, which says so', async (method) => {
    await using app = await open();
    const limiter: Record<string, (...args: unknown[]) => Promise<unknown>> = app.app.get(RateLimiter);
    await expect(limiter[method]!('mine', ADA, method === 'pause' ? { for: 1 } : undefined)).rejects.toThrow(
      `RateLimiter.${method}: policy 'mine' counts at 'GET /mine' alone, and RateLimiter across the application`,
    );
  });

  it('of several routes makes peek ask for one of them', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    const peeked = limiter.peek('twice', ADA);
    await expect(peeked).rejects.toThrow("counts at several places ('GET /one', 'GET /other'): name one of them");
    expect((await limiter.peek({ route: 'GET /one' }, ADA)).policies).toMatchObject([{ remaining: 2 }]);
  });

  it('is among those that a message about a wrong name lists', async () => {
    await using app = await open();
    const consumed = app.app.get(RateLimiter).consume('everywere', ADA);
    await expect(consumed).rejects.toThrow(
      "there is no policy named 'everywere'. Did you mean 'everywhere'? The application's policies are 'named', 'mine', 'twice', 'everywhere'",
    );
  });
});

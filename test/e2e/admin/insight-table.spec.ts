import { describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { open } from '../support/shop.js';

describe('RateLimiter.table', () => {
  it('lists every handler with its policies, also those that nothing limits, as plain data', async () => {
    await using http = await open('Express');
    const limiter = http.app.get(RateLimiter);
    const table = limiter.table();
    expect(JSON.parse(JSON.stringify(table))).toEqual(table);
    expect(
      table.routes.map(({ route, handler, origin, limited: is, chosen }) => [route, handler, origin, is, chosen]),
    ).toEqual([
      ['GET /shop', 'Shop.list', 'method', true, false],
      ['POST /shop/orders', 'Shop.order', 'method', true, false],
      ['GET /shop/planned', 'Shop.planned', 'method', true, false],
      ['GET /shop/chosen', 'Shop.chosen', 'method', true, true],
      ['GET /shop/tenants', 'Shop.tenants', 'method', true, false],
      ['GET /shop/open', 'Shop.open', 'skipped', false, false],
      ['GET /shop/bare', 'Shop.bare', 'none', false, false],
      ['GET /twins', 'Twins.one', 'class', true, false],
    ]);
    const common = {
      scope: 'GET /shop',
      onMissingIdentity: 'ip',
      cost: 1,
      skips: false,
      settles: null,
      expiresMs: null,
      atExpiry: null,
      onStoreFailure: 'local',
      plans: null,
      shards: 1,
      priorities: null,
      priority: null,
      else: null,
      prefetch: null,
      mode: 'enforce',
      blockForMs: null,
      blockAfter: null,
      thresholds: null,
      override: null,
    };
    expect(table.routes[0]).toEqual({
      context: 'http',
      handler: 'Shop.list',
      route: 'GET /shop',
      origin: 'method',
      guarded: true,
      chosen: false,
      limited: true,
      sheds: false,
      policies: [
        { ...common, name: 'daily', algorithm: 'fixed-window', numbers: { limit: 3, window: '300d' }, by: 'user' },
        { ...common, name: 'all', algorithm: 'token-bucket', numbers: { capacity: 50, refill: 1 }, by: 'global' },
      ],
    });
    const of = (route: string) => table.routes.find((one) => one.route === route)!.policies;
    expect(of('POST /shop/orders')).toMatchObject([{ cost: 2, onStoreFailure: 'closed' }]);
    expect(of('GET /shop/planned')).toMatchObject([{ plans: { pro: { capacity: 20, refill: '1/h' } } }]);
    expect(of('GET /shop/chosen').map(({ name }) => name)).toEqual(['fixed']);
    expect(of('GET /shop/tenants')).toMatchObject([{ by: 'function', cost: 'function', skips: true }]);
    expect(of('GET /twins')).toMatchObject([{ scope: 'Twins /twins' }]);
    expect(table.middleware).toMatchObject({ chosen: false, policies: [{ name: 'address', scope: 'app' }] });
    expect(table.named).toMatchObject([{ name: 'emails', scope: 'app', numbers: { limit: 2, window: '1h' } }]);
  });
});

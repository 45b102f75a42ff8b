import { Controller, Get, Post } from '@nestjs/common';
import { Query as QueryField, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule, SkipRateLimit } from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS, start } from '../../support/http-app.js';
import { ADA, open, Shop, WINDOW } from '../support/shop.js';

jest.setTimeout(20_000);

describe.each(PLATFORMS)('over %s, RateLimiter.table', (platform) => {
  it('lists every handler with its policies, also those that nothing limits, as plain data', async () => {
    await using http = await open(platform);
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
      candidateOf: null,
      blockForMs: null,
      blockAfter: null,
      thresholds: null,
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

  it('lists what settles, what is told and what gives way', async () => {
    @Controller('fares')
    class Fares {
      @Get('estimates')
      @RateLimit({
        ...WINDOW,
        name: 'matching',
        priorities: { rides: 1, estimates: 0.5 },
        priority: 'estimates',
        thresholds: [0.8, 1],
        settle: () => 1,
      })
      estimate(): void {}

      @Post('logins')
      @RateLimit({ ...WINDOW, name: 'logins', countIf: () => true })
      login(): void {}

      @Get('health')
      @SkipRateLimit()
      health(): void {}
    }
    const shed = { classes: ['estimates'], check: () => false };
    await using http = await limited(platform, Fares, { identity: FROM_HEADERS, shed, onThreshold: () => undefined });
    const { routes } = http.app.get(RateLimiter).table();
    expect(routes.map(({ route, sheds }) => [route, sheds])).toEqual([
      ['GET /fares/estimates', true],
      ['POST /fares/logins', false],
      ['GET /fares/health', false],
    ]);
    const priorities = { rides: 1, estimates: 0.5 };
    expect(routes[0]!.policies).toMatchObject([
      { priorities, priority: 'estimates', thresholds: [0.8, 1], settles: 'settle' },
    ]);
    expect(routes[1]!.policies).toMatchObject([{ priorities: null, thresholds: null, settles: 'countIf' }]);
  });

  it('lists handlers of other contexts, and explains them', async () => {
    @Controller()
    class Messages {
      @MessagePattern('rides')
      @RateLimit({ ...WINDOW, name: 'messages' })
      ride(): void {}
    }
    @Resolver()
    class Queries {
      @QueryField(() => String)
      rides(): string {
        return '';
      }
    }
    const imports = [RateLimitModule.forRoot({ identity: FROM_HEADERS })];
    await using http = await start(platform, { imports, controllers: [Messages], providers: [Queries] });
    const limiter = http.app.get(RateLimiter);
    expect(limiter.table().routes).toMatchObject([
      { context: 'graphql', handler: 'Queries.rides', route: 'Queries.rides', limited: false, guarded: true },
      { context: 'rpc', handler: 'Messages.ride', route: 'Messages.ride', limited: true, guarded: true },
    ]);
    expect(await limiter.explain('Messages.ride', ADA)).toMatchObject({
      route: { context: 'rpc' },
      policies: [{ policy: 'messages', outcome: 'passes' }],
    });
  });

  it('says where no guard stands, and where defaults limit', async () => {
    const defaults: Policy[] = [
      { name: 'default', algorithm: 'token-bucket', capacity: 9, refill: 9, prefetch: { for: '1s', max: 5 } },
    ];
    await using bound = await open(platform, { defaults });
    const bare = bound.app
      .get(RateLimiter)
      .table()
      .routes.find(({ handler }) => handler === 'Shop.bare');
    expect(bare).toMatchObject({
      origin: 'defaults',
      limited: true,
      policies: [{ name: 'default', scope: 'GET /shop/bare', prefetch: { for: 1000, max: 5 } }],
    });
    await using unbound = await open(platform, { guard: false });
    const { routes } = unbound.app.get(RateLimiter).table();
    expect(routes.filter(({ guarded, limited: is }) => guarded || is)).toEqual([]);
    // Nothing but the middleware rejects there.
    const { policies } = await unbound.app.get(RateLimiter).explain([Shop, 'list'], ADA);
    expect(policies.map(({ policy }) => policy)).toEqual(['address']);
  });
});

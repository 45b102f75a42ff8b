import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimitConfigError,
  RateLimiter,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  RateLimitStoreError,
} from 'nestjs-floodgate';
import { type HttpApp, left, limited, type Platform, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const ROOMY = { name: 'address', algorithm: 'fixed-window', limit: 1_000, window: '1h', scope: 'app' } as const;
const STRICT = { ...ROOMY, limit: 5 } as const;
const ROOMY_TEXT = "'address' of RateLimitModule, middleware is a fixed-window (limit 1000, window 3600000 ms)";
const STRICT_TEXT = "policy 'address' is a fixed-window (limit 5, window 3600000 ms)";
const SHARED = 'both count under one key';

function login(policy: PolicySource, ...more: PolicySource[]): Type {
  @Controller()
  class Session {
    @Get('login')
    @RateLimit(policy, ...more)
    login(): void {}
  }
  return Session;
}

function onClass(policy: Policy): Type {
  @Controller('class')
  @RateLimit(policy)
  class OnClass {
    @Get()
    get(): void {}
  }
  return OnClass;
}

function inZone(timeZone: string | (() => string), limit: number): Policy {
  return { name: 'address', algorithm: 'fixed-window', limit, window: { calendar: 'day', timeZone }, scope: 'app' };
}

@Controller('plain')
class Plain {
  @Get()
  get(): void {}
}

const costOf = ({ headers }: RateLimitRequest): number => Number(headers['x-cost'] ?? 1);

describe.each(PLATFORMS)('different policies of one name over %s', (platform) => {
  const { scope: _, name: __, ...roomy } = ROOMY;

  it.each<[string, Type | Type[], RateLimitModuleOptions, string, string]>([
    [
      'of the middleware and a route',
      login(STRICT),
      { middleware: [ROOMY] },
      `Session.login, @RateLimit: ${STRICT_TEXT}`,
      ROOMY_TEXT,
    ],
    [
      'of the middleware and a class',
      onClass(STRICT),
      { middleware: [ROOMY] },
      `OnClass, @RateLimit: ${STRICT_TEXT}`,
      ROOMY_TEXT,
    ],
    [
      'of the middleware and the defaults',
      Plain,
      { middleware: [ROOMY], defaults: [STRICT] },
      'RateLimitModule, ',
      'limit 5, ',
    ],
    ['of the defaults and a route', [Plain, login(STRICT)], { defaults: [ROOMY] }, STRICT_TEXT, 'limit 1000, '],
    [
      'of the defaults, which no route uses, and a route',
      login(STRICT),
      { defaults: [ROOMY] },
      STRICT_TEXT,
      'RateLimitModule, defaults[0]',
    ],
    [
      'in a fixed time zone and in that of the request',
      [login(inZone('Europe/Paris', 5)), onClass(inZone(() => 'Europe/Paris', 1_000))],
      {},
      "limit 1000, window day in the request's time zone",
      'limit 5, window day in Europe/Paris',
    ],
    [
      'in the time zone of the request and in a fixed one',
      [login(inZone(() => 'Europe/Paris', 1_000)), onClass(inZone('Asia/Tokyo', 5))],
      {},
      'limit 5, window day in Asia/Tokyo',
      "limit 1000, window day in the request's time zone",
    ],
    ['of two routes', [login(STRICT), onClass(ROOMY)], {}, 'limit 5, ', 'limit 1000, '],
    [
      'of a named policy and a route',
      login(STRICT),
      { policies: { address: roomy } },
      STRICT_TEXT,
      'RateLimitModule, policies.address',
    ],
    [
      'of a named policy and the middleware',
      Plain,
      { policies: { address: roomy }, middleware: [STRICT] },
      STRICT_TEXT,
      'RateLimitModule, policies.address',
    ],
    [
      'that count different identities',
      login({ ...STRICT, by: 'user' }),
      { middleware: [{ ...ROOMY, by: 'ip' }] },
      STRICT_TEXT,
      ROOMY_TEXT,
    ],
    [
      'with a sliding window log',
      login({ ...STRICT, algorithm: 'sliding-window-log' }),
      { middleware: [{ ...ROOMY, algorithm: 'sliding-window-log' }] },
      'sliding-window-log (limit 5, ',
      'sliding-window-log (limit 1000, ',
    ],
    [
      'with a sliding window counter',
      login({ ...STRICT, algorithm: 'sliding-window-counter' }),
      { middleware: [{ ...ROOMY, algorithm: 'sliding-window-counter' }] },
      'sliding-window-counter (limit 5, ',
      'sliding-window-counter (limit 1000, ',
    ],
    [
      'of which only one has shards',
      login({ ...ROOMY, by: 'global', shards: 4 }),
      { middleware: [{ ...ROOMY, by: 'global' }] },
      'window 3600000 ms, shards 4)',
      ROOMY_TEXT,
    ],
  ])('stop the boot: %s', async (_case, controllers, options, one, other) => {
    const boot = limited(platform, controllers, { store: new StillStore(), ...options });
    const error = await boot.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(error).toBeInstanceOf(RateLimitConfigError);
    expect(error!.message).toContain(one);
    expect(error!.message).toContain(other);
    expect(error!.message).toContain(SHARED);
  });

  it('stop the boot: of a class and one of its methods in the same scope', async () => {
    @Controller()
    @RateLimit({ ...ROOMY, scope: 'controller' })
    class Both {
      @Get('one')
      one(): void {}

      @Get('two')
      @RateLimit({ ...STRICT, scope: 'controller' })
      two(): void {}
    }
    await expect(limited(platform, Both, { store: new StillStore() })).rejects.toThrow(
      /Both\.two, @RateLimit: .*limit 5, .*Both, @RateLimit is .*limit 1000, .*both count under one key/,
    );
  });

  it.each<[string, Type | Type[], RateLimitModuleOptions]>([
    ['in different fixed time zones', [login(inZone('Europe/Paris', 5)), onClass(inZone('Asia/Tokyo', 1_000))], {}],
    [
      'in the time zone of the request, with the same numbers',
      [login(inZone(() => 'Europe/Paris', 5)), onClass(inZone(() => 'Asia/Tokyo', 5))],
      {},
    ],
    [
      'in different scopes',
      [login({ ...STRICT, scope: 'route' }), onClass({ ...ROOMY, scope: 'controller' })],
      { middleware: [{ ...ROOMY, limit: 7 }] },
    ],
    ['of different windows, which have different keys', login({ ...STRICT, window: '1m' }), { middleware: [ROOMY] }],
    ['equal but written differently', login({ ...ROOMY, window: 3_600_000 }), { middleware: [ROOMY] }],
    ['different in cost only, chosen by a function', login(() => ({ ...ROOMY, cost: 5 })), { middleware: [ROOMY] }],
    ['different in onStoreFailure only', login({ ...ROOMY, onStoreFailure: 'closed' }), { middleware: [ROOMY] }],
  ])('do not stop the boot when they are %s', async (_case, controllers, options) => {
    await using app = await limited(platform, controllers, { store: new StillStore(), ...options });
    expect(app.logs.text).not.toContain(SHARED);
  });

  it('bring one warning when a function returns one of them, and the stricter limit holds', async () => {
    const store = new StillStore();
    await using app = await limited(
      platform,
      login(() => ({ ...STRICT })),
      { store, middleware: [ROOMY] },
    );
    // The middleware and the route charge one each.
    expect(await app.crowd(50, '/login')).toEqual({ 200: 2, 429: 48 });
    const said = app.logs.of('warn').filter((text) => text.includes(SHARED));
    expect(said).toEqual([expect.stringContaining(STRICT_TEXT)]);
    expect(said[0]).toContain(ROOMY_TEXT);
  });

  it('bring one warning when code passes one of them to RateLimiter', async () => {
    await using app = await limited(platform, login(ROOMY), { store: new StillStore() });
    const limiter = app.app.get(RateLimiter);
    for (let i = 0; i < 3; i++) await limiter.consume({ ...STRICT }, { kind: 'user', value: 'ada' });
    expect(app.logs.of('warn').filter((text) => text.includes(SHARED))).toEqual([
      expect.stringContaining(`RateLimiter: ${STRICT_TEXT}`),
    ]);
  });
});

const BUCKET = { name: 'all', algorithm: 'token-bucket', capacity: 20, refill: '1/h', scope: 'app' } as const;

describe.each(PLATFORMS)('different costs of one policy in the middleware and on a route over %s', (platform) => {
  const other = (): number => 1;
  const ofPlan = { algorithm: 'token-bucket', capacity: 20, refill: '1/h', scope: 'app' } as const;

  it.each<[string, Policy['cost'], Policy['cost'], string]>([
    ['constants', 1, 5, 'costs 5 on the route and 1 in'],
    ['none and a constant', undefined, 2, 'costs 2 on the route and 1 in'],
    ['a function and a constant', costOf, 1, 'costs 1 on the route and what a function says in'],
    ['two functions', costOf, other, 'costs what a function says on the route and what a function says in'],
  ])('stop the boot: %s', async (_case, before, behind, message) => {
    const costs = (cost: Policy['cost']): Policy => ({ ...BUCKET, ...(cost !== undefined && { cost }) });
    const boot = limited(platform, login(costs(behind)), { store: new StillStore(), middleware: [costs(before)] });
    await expect(boot).rejects.toThrow(RateLimitConfigError);
    await expect(boot).rejects.toMatchObject({ code: 'FG_POLICIES_TOGETHER' });
    await expect(boot).rejects.toThrow(
      `Session.login: policy 'all' ${message} the module's middleware: give it one cost`,
    );
  });

  it('stop the boot: in the defaults', async () => {
    const options = { defaults: [{ ...BUCKET, cost: 3 }], middleware: [BUCKET] };
    await expect(limited(platform, Plain, { store: new StillStore(), ...options })).rejects.toThrow(
      "Plain.get: policy 'all' costs 3 on the route and 1 in the module's middleware",
    );
  });

  it.each<[string, PolicySource, RateLimitModuleOptions]>([
    ['the same constant', { ...BUCKET, cost: 2 }, { middleware: [{ ...BUCKET, cost: 2 }] }],
    ['the same function', { ...BUCKET, cost: costOf }, { middleware: [{ ...BUCKET, cost: costOf }] }],
    ['one name', 'plan', { policies: { plan: { ...ofPlan, cost: costOf } }, middleware: ['plan'] }],
    ['other identities', { ...BUCKET, by: 'global', cost: 2 }, { middleware: [{ ...BUCKET, by: 'ip' }] }],
    ['another scope', { ...BUCKET, scope: 'route', cost: 2 }, { middleware: [BUCKET] }],
  ])('do not stop the boot: %s', async (_case, source, options) => {
    await using app = await limited(platform, login(source), { store: new StillStore(), ...options });
    expect((await app.send('/login')).status).toBe(200);
  });
});

describe.each(PLATFORMS)('a policy of both the middleware and a route over %s', (platform) => {
  const open = async (
    before: Partial<Policy>,
    behind: Partial<Policy>,
    beside: Policy[] = [],
    options: RateLimitModuleOptions = {},
  ): Promise<HttpApp & { readonly store: StillStore }> => {
    const store = new StillStore();
    // Boot refuses different costs that it knows: a function chooses the policy of the route.
    const route = login(() => ({ ...BUCKET, ...behind }) as Policy, ...beside);
    const middleware = [{ ...BUCKET, ...before } as Policy];
    return Object.assign(await limited(platform, route, { store, ...options, middleware }), { store });
  };
  const costs = ({ store }: { store: StillStore }): number[][] => store.asked.map((all) => all.map(({ cost }) => cost));

  it.each<[number, number, number[][], number]>([
    [1, 5, [[1], [4]], 15],
    [1, 1, [[1]], 19],
    [5, 1, [[5]], 15],
    [0, 3, [[0], [3]], 17],
    [3, 0, [[3]], 17],
  ])('charges the larger cost: %d in the middleware, %d on the route', async (before, behind, expected, remaining) => {
    await using app = await open({ cost: before }, { cost: behind });
    const reply = await app.send('/login');
    expect([reply.status, left(reply), costs(app)]).toEqual([200, remaining, expected]);
  });

  it('admits exactly as many requests as the larger cost allows', async () => {
    await using app = await open({}, { cost: 5 });
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await app.send('/login')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  });

  it('may have functions of the request as its costs', async () => {
    await using app = await open({ cost: (request) => Math.min(2, costOf(request)) }, { cost: costOf });
    for (const [cost, remaining] of [
      ['1', 19],
      ['2', 17],
      ['7', 10],
    ] as const) {
      expect(left(await app.send('/login', { headers: { 'X-Cost': cost } }))).toBe(remaining);
    }
    expect(costs(app)).toEqual([[1], [2], [2], [5]]);
  });

  it('charges the difference together with the other policies of the route: all of them, or none', async () => {
    const tight: Policy = { name: 'tight', algorithm: 'token-bucket', capacity: 2, refill: '1/h' };
    await using app = await open({}, { cost: 4 }, [tight]);
    const replies = [];
    for (let i = 0; i < 3; i++) replies.push(left(await app.send('/login')));
    // The third request charged one token in the middleware and none on the route.
    expect(left(await app.send('/nothing'))).toBe(20 - 4 - 4 - 1 - 1);
    expect(replies).toEqual([1, 0, 0]);
    expect(costs(app).slice(0, 4)).toEqual([[1], [3, 1], [1], [3, 1]]);
  });

  it('gives the instant at which a retry really passes', async () => {
    await using app = await open({ refill: '1/s' }, { refill: '1/s', cost: 5 });
    for (let i = 0; i < 4; i++) expect((await app.send('/login')).status).toBe(200);
    const { status, body } = await app.send('/nothing');
    expect([status, body]).toMatchObject([429, { retry_after_ms: 1000 }]);
    app.store.advance(2000);
    // Two tokens refilled: one for the middleware, one of the four that the route needs.
    const rejected = await app.send('/login');
    expect([rejected.status, rejected.headers['retry-after']]).toEqual([429, '4']);
    expect(rejected.body).toMatchObject({ retry_after_ms: 4000, policy: 'all' });
    app.store.advance(3999);
    expect((await app.send('/login')).body).toMatchObject({ retry_after_ms: 1001 });
    app.store.advance(1001);
    expect((await app.send('/login')).status).toBe(200);
  });

  it('gives no retry time for a cost that never fits', async () => {
    await using app = await open({}, { cost: costOf });
    expect((await app.send('/login', { headers: { 'X-Cost': '21' } })).body).toMatchObject({ retry_after_ms: null });
    expect((await app.send('/login', { headers: { 'X-Cost': '19' } })).status).toBe(200);
  });

  it.each<[Policy['onStoreFailure'], Policy['onStoreFailure'], number[]]>([
    ['open', 'closed', [503, 404]],
    ['local', 'closed', [503, 404]],
    ['local', 'local', [200, 404]],
    ['open', 'open', [200, 404]],
  ])(
    "with onStoreFailure '%s' in the middleware and '%s' on the route follows the route's value there",
    async (before, behind, expected) => {
      class UnavailableStore extends StillStore {
        override consume(): never {
          throw new RateLimitStoreError('unavailable');
        }
      }
      await using app = await open({ onStoreFailure: before! }, { onStoreFailure: behind! }, [], {
        store: new UnavailableStore(),
      });
      expect([(await app.send('/login')).status, (await app.send('/nothing')).status]).toEqual(expected);
    },
  );
});

describe.each(PLATFORMS)('the names of scopes over %s', (platform) => {
  const statesOf = async (controllers: Type[], paths: string[], on: Platform): Promise<number> => {
    const store = new StillStore();
    await using app = await limited(on, controllers, { store });
    for (const path of paths) expect((await app.send(path)).status).toBe(200);
    return store.keys.length;
  };
  const policy: Policy = { name: 'p', algorithm: 'fixed-window', limit: 9, window: '1h' };

  it('never collide: a class may have the name of an HTTP method', async () => {
    @Controller('x')
    @RateLimit({ ...policy, scope: 'controller' })
    class GET {
      @Get('other')
      other(): void {}
    }
    @Controller('x')
    class Routes {
      @Get()
      @RateLimit(policy)
      get(): void {}
    }
    expect(await statesOf([GET, Routes], ['/x/other', '/x'], platform)).toBe(2);
  });
});

import { UseGuards } from '@nestjs/common';
import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type DecisionEvent,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitRequest,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { StillStore } from '../support/still-store.js';
import {
  APOLLO_STATUS,
  codes,
  DRIVERS,
  type Driver,
  type GraphqlSettings,
  startGraphql,
} from './support/graphql-app.js';
import { aliases, begin, Riders, TWENTY } from './support/riders.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

describe.each(DRIVERS)('with %s', (driver) => {
  it('a mutation is rejected on its 21st call, with a code and the time to wait', async () => {
    await using app = await begin(driver);
    for (let i = 0; i < 20; i++)
      expect((await app.ask('mutation { login(password: "abc") }')).data).toEqual({ login: 3 });
    const { data, errors, headers } = await app.ask('mutation { login(password: "abc") }');
    expect(data).toBeNull();
    expect(errors).toEqual([
      expect.objectContaining({
        message: 'Too many requests, retry in 3600 seconds',
        path: ['login'],
        extensions: expect.objectContaining({
          code: 'RATE_LIMITED',
          retryAfter: 3600,
          retryAfterMs: 3_600_000,
          policy: 'twenty',
        }) as unknown,
      }),
    ]);
    expect(headers.get('retry-after')).toBe('3600');
    expect(app.http.logs.of('error')).toEqual([]);
  });

  it('a query is rejected on its 21st call, by GET as well', async () => {
    await using app = await begin(driver);
    for (let i = 0; i < 10; i++) {
      expect((await app.ask('{ rider(id: 1) { id } }')).data).toEqual({ rider: { id: 1 } });
      expect((await app.get('{ rider(id: 1) { id } }')).data).toEqual({ rider: { id: 1 } });
    }
    expect(codes(await app.ask('{ rider(id: 1) { id } }'))).toEqual(['RATE_LIMITED']);
    expect(codes(await app.get('query Other { rider(id: 2) { id } }'))).toEqual(['RATE_LIMITED']);
    expect((await app.ask('{ __schema { queryType { name } } }')).data).toEqual({
      __schema: { queryType: { name: 'Query' } },
    });
  });

  it('reads users, keys and addresses of the request', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store, identity: FROM_HEADERS });
    await app.ask('{ rider(id: 1) { id } }', { 'x-user-id': 'ada' });
    await app.ask('{ rider(id: 1) { id } }');
    expect(store.keys.map((key) => key.split(':Riders')[0])).toEqual(['rl:{user:ada}', 'rl:{ip:127.0.0.1}']);
  });

  it('gives functions of policies the request, and the arguments of the field', async () => {
    @Resolver()
    class Costly {
      @Mutation(() => Int)
      @RateLimit({
        ...TWENTY,
        by: ({ headers }: RateLimitRequest<{ headers: { 'x-tenant'?: string } }>) => ({
          kind: 'tenant',
          value: headers['x-tenant'],
        }),
        cost: (_, context) => context.getArgByIndex<{ n: number }>(1).n,
      })
      add(@Args('n', { type: () => Int }) n: number): number {
        return n;
      }

      @Query(() => Int)
      none(): number {
        return 0;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store }, {}, [Costly]);
    await app.ask('mutation { a: add(n: 3) b: add(n: 4) }', { 'x-tenant': 't1' });
    expect(store.asked.flat().map(({ key, cost }) => [key.slice(0, 14), cost])).toEqual([
      ['rl:{tenant:t1}', 3],
      ['rl:{tenant:t1}', 4],
    ]);
  });

  it('defaults reach resolvers, @SkipRateLimit leaves them out, and guards that are bound twice count once', async () => {
    @Resolver()
    @UseGuards(RateLimitGuard)
    class Twice {
      @Query(() => Int)
      @UseGuards(RateLimitGuard)
      counted(): number {
        return 1;
      }

      @Query(() => Int)
      @SkipRateLimit()
      free(): number {
        return 2;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store, defaults: [{ ...TWENTY, limit: 2 }] }, {}, [Twice]);
    expect((await app.ask('{ counted free }')).data).toEqual({ counted: 1, free: 2 });
    expect(store.asked).toHaveLength(1);
    await app.ask('{ counted }');
    const { data, errors } = await app.ask('{ counted }');
    expect([data, errors?.length]).toEqual([null, 1]);
    expect((await app.ask('{ free }')).data).toEqual({ free: 2 });
  });

  it('a missing identity and an unavailable store have errors of their own', async () => {
    @Resolver()
    class Strict {
      @Query(() => Int)
      @RateLimit({ ...TWENTY, by: 'user', onMissingIdentity: 'refuse' })
      user(): number {
        return 1;
      }
    }
    await using app = await begin(driver, {}, {}, [Strict]);
    const { errors } = await app.ask('{ user }');
    expect(errors).toEqual([
      expect.objectContaining({ extensions: expect.objectContaining({ code: 'UNAUTHENTICATED', policy: 'twenty' }) }),
    ]);
    const store = Object.assign(new StillStore(), {
      consume: () => {
        throw new Error('gone');
      },
    });
    await using broken = await begin(driver, { store, onStoreFailure: 'closed' });
    const outage = await broken.ask('{ first }');
    expect(outage.errors).toEqual([
      expect.objectContaining({
        extensions: expect.objectContaining({ code: 'RATE_LIMIT_UNAVAILABLE', retryAfter: 1 }),
      }),
    ]);
  });

  it('peek and reset know resolvers', async () => {
    await using app = await begin(driver);
    await app.ask('{ rider(id: 1) { id } }');
    const limiter = app.http.app.get(RateLimiter);
    const client = { kind: 'ip', value: '127.0.0.1' };
    expect((await limiter.peek([Riders, 'rider'], client)).policies[0]!.remaining).toBe(19);
    await limiter.reset([Riders, 'rider'], client);
    expect((await limiter.peek([Riders, 'rider'], client)).policies[0]!.remaining).toBe(20);
  });
});

describe('the HTTP answer', () => {
  const login = 'mutation { login(password: "a") }';
  const rejected = async (driver: Driver, settings?: GraphqlSettings) => {
    await using app = await begin(driver, {}, settings);
    const passed = await app.ask(login);
    expect([passed.status, passed.data]).toEqual([200, { login: 1 }]);
    const reply = await app.ask(`mutation { ${aliases(21, 'login(password: "a")')} }`);
    expect(codes(reply)).toContain('RATE_LIMITED');
    const { status, headers, errors } = reply;
    return { status, retryAfter: headers.get('retry-after'), http: errors![0]!.extensions!['http'] };
  };

  it("is 200 by Nest's choice with Apollo, and 429 by the application's", async () => {
    expect(await rejected('Apollo over Express')).toEqual({
      status: APOLLO_STATUS,
      retryAfter: '3600',
      http: undefined,
    });
    const apollo = { preserveHttpStatusForExecutionErrors: false };
    expect(await rejected('Apollo over Express', { apollo })).toMatchObject({ status: 429, retryAfter: '3600' });
  });

  it.each<[string, (request: object, reply: object) => object]>([
    ['the reply', (req, reply) => ({ req, reply })],
    ['the request alone', (req) => ({ req })],
    ['the request under another name', (request) => ({ request })],
  ])('has headers over Fastify where the context has %s', async (_, context) => {
    expect(await rejected('Apollo over Fastify', { apollo: { context } })).toMatchObject({
      status: APOLLO_STATUS,
      retryAfter: '3600',
    });
  });

  it('is 429 with Mercurius where there is no data', async () => {
    expect(await rejected('Mercurius')).toMatchObject({ status: 429, retryAfter: '3600' });
  });
});

describe('with Redis', () => {
  const redis = useRedis();

  it.each(DRIVERS)('%s admits 20 mutations', async (driver) => {
    const sources = new Set<string>();
    const onDecision = ({ source }: DecisionEvent): void => void sources.add(source);
    const limiter = RateLimitModule.forRoot({ redis: redis.server.url, deadline: 10_000, onDecision });
    await using app = await startGraphql(driver, { imports: [limiter], providers: [Riders] });
    const replies = await Promise.all(Array.from({ length: 30 }, () => app.ask('mutation { login(password: "x") }')));
    expect(replies.flatMap(codes)).toEqual(Array.from({ length: 10 }, () => 'RATE_LIMITED'));
    expect([...sources].filter((source) => source !== 'denial-cache')).toEqual(['store']);
  });
});

import { createHash } from 'node:crypto';
import { UseGuards } from '@nestjs/common';
import { Args, Field, Int, Mutation, ObjectType, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { describe, expect, it } from '@jest/globals';
import {
  graphqlContext,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
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
  type GraphqlApp,
  type GraphqlSettings,
  startGraphql,
} from './support/graphql-app.js';

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
const TWENTY = { ...WINDOW, name: 'twenty', limit: 20 } as const satisfies Policy;

@ObjectType()
class Rider {
  @Field(() => Int)
  id!: number;
}

@Resolver(() => Rider)
class Riders {
  @Query(() => Rider)
  @RateLimit(TWENTY)
  rider(@Args('id', { type: () => Int }) id: number): Rider {
    return { id };
  }

  @Query(() => [Rider])
  riders(): Rider[] {
    return [{ id: 1 }, { id: 2 }, { id: 3 }];
  }

  @Query(() => Int)
  @RateLimit({ ...TWENTY, name: 'shared', scope: 'app' })
  first(): number {
    return 1;
  }

  @Query(() => Int)
  @RateLimit({ ...TWENTY, name: 'shared', scope: 'app' })
  second(): number {
    return 2;
  }

  @Mutation(() => Int)
  @RateLimit(TWENTY)
  login(@Args('password') password: string): number {
    return password.length;
  }

  @ResolveField(() => String)
  @RateLimit({ ...TWENTY, name: 'field' })
  label(@Parent() { id }: Rider): string {
    return `rider ${id}`;
  }
}

function begin(
  driver: Driver,
  options: RateLimitModuleOptions = {},
  settings?: GraphqlSettings,
  providers: NonNullable<Parameters<typeof startGraphql>[1]['providers']> = [Riders],
): Promise<GraphqlApp> {
  const limiter = RateLimitModule.forRoot({ store: new StillStore(), ...options });
  return startGraphql(driver, { imports: [limiter], providers }, settings);
}

/** `a0: login(..) a1: login(..)`. */
const aliases = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ');

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
    // Apollo's integration of Fastify gives the context no way to the response.
    expect(headers.get('retry-after')).toBe(driver === 'Apollo over Fastify' ? null : '3600');
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

  it('100 aliased logins of one mutation are 100 attempts', async () => {
    await using app = await begin(driver);
    const login = 'login(password: "guess")';
    const { data, errors = [] } = await app.ask(`mutation { ${aliases(20, login)} }`);
    expect([Object.keys(data!).length, errors.length]).toEqual([20, 0]);
    expect(codes(await app.ask(`mutation { ${login} }`))).toEqual(['RATE_LIMITED']);

    await using other = await begin(driver);
    const many = await other.ask(`mutation { ${aliases(100, login)} }`);
    expect(codes(many)[0]).toBe('RATE_LIMITED');
    expect(many.data).toBeNull();
    expect(codes(await other.ask(`mutation { ${login} }`))).toEqual(['RATE_LIMITED']);
  });

  it('aliases in fragments are attempts as well, and a field that is named twice is one', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const fragment = 'fragment F on Mutation { b: login(password: "b") c: login(password: "c") }';
    await app.ask(`mutation { a: login(password: "a") ...F ...F a: login(password: "a") } ${fragment}`);
    expect(store.asked).toHaveLength(3);
  });

  it('a query is charged once for each policy, however many fields and aliases ask', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const { data } = await app.ask(`{ ${aliases(30, 'rider(id: 1) { id }')} first second more: second }`);
    expect(Object.keys(data!)).toHaveLength(33);
    expect(store.asked.flat().map(({ key, cost }) => [key.split(':').at(-3), cost])).toEqual([
      ['twenty', 1],
      ['shared', 1],
    ]);
    await app.ask('{ first second }');
    expect(store.asked.flat()).toHaveLength(3);
  });

  it('one document counts for each of its requests, whichever of its operations they name', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store });
    const query = 'query A { rider(id: 1) { id } } query B { rider(id: 2) { id } }';
    for (const operationName of ['A', 'B', 'A']) await app.post({ query, operationName });
    await Promise.all(Array.from({ length: 5 }, () => app.post({ query, operationName: 'B' })));
    expect(store.asked).toHaveLength(8);
  });

  it('each operation of a batch counts', async () => {
    await using app = await begin(driver);
    const replies = await app.batch(...Array.from({ length: 25 }, () => '{ rider(id: 1) { id } }'));
    expect(replies.flatMap(codes)).toEqual(Array.from({ length: 5 }, () => 'RATE_LIMITED'));
    expect(replies.filter(({ data }) => data?.['rider'] !== undefined)).toHaveLength(20);
  });

  it('a field is limited where guards see fields, once for an operation', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store }, { fieldResolverEnhancers: ['guards'] });
    const { data } = await app.ask('{ riders { id label other: label } }');
    expect(data!['riders']).toHaveLength(3);
    expect(store.asked).toHaveLength(1);
    expect(app.http.logs.of('warn')).toEqual([]);
  });

  it('counts each field where the application says so', async () => {
    const store = new StillStore();
    const contexts = [graphqlContext({ count: 'field' })];
    await using app = await begin(driver, { store, contexts }, { fieldResolverEnhancers: ['guards'] });
    await app.ask(`{ riders { label } ${aliases(3, 'rider(id: 1) { id }')} }`);
    expect(store.asked).toHaveLength(6);
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
        by: (context) => {
          const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
          return { kind: 'tenant', value: headers['x-tenant'] };
        },
        cost: (context) => context.getArgByIndex<{ n: number }>(1).n,
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

  it('an operation is charged the largest cost that its fields ask of a policy', async () => {
    @Resolver()
    class Costly {
      @Query(() => Int)
      @RateLimit({ ...TWENTY, cost: (context) => context.getArgByIndex<{ n: number }>(1).n })
      page(@Args('n', { type: () => Int }) n: number): number {
        return n;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store }, {}, [Costly]);
    const { data } = await app.ask('{ a: page(n: 2) b: page(n: 20) c: page(n: 5) }');
    expect(data).toEqual({ a: 2, b: 20, c: 5 });
    expect(store.asked.flat().map(({ cost }) => cost)).toEqual([2, 18]);
    expect(codes(await app.ask('{ page(n: 1) }'))).toEqual(['RATE_LIMITED']);
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

  it('a policy of a class is one for its resolvers, and an operation pays it once', async () => {
    @Resolver()
    @RateLimit(TWENTY)
    class Together {
      @Query(() => Int)
      one(): number {
        return 1;
      }

      @Query(() => Int)
      two(): number {
        return 2;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store }, {}, [Together]);
    expect((await app.ask('{ one two }')).data).toEqual({ one: 1, two: 2 });
    await app.ask('{ two }');
    expect([store.keys.length, store.asked.length]).toEqual([1, 2]);
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

  it('the middleware counts the POST once, and the operations count for themselves', async () => {
    const store = new StillStore();
    await using app = await begin(driver, { store, middleware: [{ ...TWENTY, name: 'http' }] });
    await app.batch('{ first }', '{ first }');
    expect(store.asked.flat().map(({ key }) => key.split(':').at(-3))).toEqual(['http', 'shared', 'shared']);
  });

  it('peekRoute and resetRoute know resolvers', async () => {
    await using app = await begin(driver);
    await app.ask('{ rider(id: 1) { id } }');
    const limiter = app.http.app.get(RateLimiter);
    const client = { kind: 'ip', value: '127.0.0.1' };
    expect((await limiter.peekRoute(Riders, 'rider', client))!.policies[0]!.remaining).toBe(19);
    await limiter.resetRoute(Riders, 'rider', client);
    expect((await limiter.peekRoute(Riders, 'rider', client))!.policies[0]!.remaining).toBe(20);
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

  it('has headers over Fastify where the context has the reply', async () => {
    const apollo = { context: (req: object, reply: object) => ({ req, reply }) };
    expect(await rejected('Apollo over Fastify', { apollo })).toMatchObject({
      status: APOLLO_STATUS,
      retryAfter: '3600',
    });
  });

  it('is 429 with Mercurius where there is no data', async () => {
    expect(await rejected('Mercurius')).toMatchObject({ status: 429, retryAfter: '3600' });
  });
});

describe('a document that is kept', () => {
  it('by Apollo counts for each request that names its hash, which a batch may do as well', async () => {
    const store = new StillStore();
    await using app = await begin('Apollo over Express', { store });
    const query = '{ rider(id: 1) { id } }';
    const sha256Hash = createHash('sha256').update(query).digest('hex');
    const extensions = { persistedQuery: { version: 1, sha256Hash } };
    await app.post({ query, extensions });
    for (let i = 0; i < 2; i++)
      expect(await (await app.post({ extensions })).json()).toEqual({ data: { rider: { id: 1 } } });
    await app.post([{ extensions }, { extensions }]);
    expect(store.asked).toHaveLength(5);
  });

  it('by Mercurius, compiled, counts for each request and for each alias of a mutation', async () => {
    const store = new StillStore();
    const settings = { mercurius: { jit: 1 }, fieldResolverEnhancers: ['guards' as const] };
    await using app = await begin('Mercurius', { store }, settings);
    for (let i = 0; i < 5; i++) {
      expect((await app.ask('{ a: first b: first }')).data).toEqual({ a: 1, b: 1 });
    }
    expect(store.asked).toHaveLength(5);
    for (let i = 0; i < 3; i++) {
      const { data } = await app.ask('mutation { a: login(password: "a") b: login(password: "bb") }');
      expect(data).toEqual({ a: 1, b: 2 });
    }
    expect(store.asked).toHaveLength(11);
    for (let i = 0; i < 3; i++) await app.ask('{ riders { label } }');
    expect(store.asked).toHaveLength(14);
  });
});

describe('with Redis', () => {
  const redis = useRedis();

  it.each(DRIVERS)('%s admits 20 mutations', async (driver) => {
    const limiter = RateLimitModule.forRoot({ redis: redis.server.url, deadlineMs: 5_000 });
    await using app = await startGraphql(driver, { imports: [limiter], providers: [Riders] });
    const replies = await Promise.all(Array.from({ length: 30 }, () => app.ask('mutation { login(password: "x") }')));
    expect(replies.flatMap(codes)).toEqual(Array.from({ length: 10 }, () => 'RATE_LIMITED'));
  });
});

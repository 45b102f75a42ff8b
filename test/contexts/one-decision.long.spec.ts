import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it, jest } from '@jest/globals';
import {
  graphqlContext,
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  type DecisionEvent,
} from 'nestjs-floodgate';
import { RedisServer } from '../support/redis-server.js';
import { StillStore } from '../support/still-store.js';
import { policiesOf, ToldStore } from '../support/told-store.js';
import { measured } from '../support/turning-time.js';
import { codes, DRIVERS, type Driver, type GraphqlApp, startGraphql } from './support/graphql-app.js';

jest.setTimeout(30_000); // the tests measure the waits themselves, and the machine may be busy

/** So many that deadlines or decisions in turn would take far longer than one. */
const MANY = 100;
const DEADLINE_MS = 400;
const WINDOW = { algorithm: 'fixed-window', window: '1h', limit: 20 } as const;
const SHARED = { ...WINDOW, name: 'shared', scope: 'app' } as const satisfies Policy;

@Resolver()
class Rides {
  @Query(() => Int)
  @RateLimit(SHARED)
  shared(): number {
    return 1;
  }

  @Query(() => Int)
  @RateLimit(SHARED, { ...WINDOW, name: 'own' })
  both(): number {
    return 2;
  }

  @Query(() => Int)
  @RateLimit({ ...WINDOW, name: 'other' })
  other(): number {
    return 3;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...WINDOW, name: 'one', limit: 1 }, { ...WINDOW, name: 'passing', scope: 'app' })
  strict(): number {
    return 4;
  }

  @Query(() => Int)
  @RateLimit({ ...WINDOW, name: 'passing', scope: 'app' })
  passing(): number {
    return 5;
  }

  @Query(() => Int)
  @RateLimit({ ...WINDOW, name: 'page', cost: (_, context) => context.getArgByIndex<{ n: number }>(1).n })
  page(@Args('n', { type: () => Int }) n: number): number {
    return n;
  }

  @Query(() => Int)
  @RateLimit({
    ...WINDOW,
    name: 'account',
    by: (_, context) => ({ kind: 'account', value: String(context.getArgByIndex<{ id: number }>(1).id) }),
  })
  account(@Args('id', { type: () => Int }) id: number): number {
    return id;
  }

  @Mutation(() => Int, { nullable: true })
  @RateLimit(SHARED)
  perform(): number {
    return 6;
  }

  @Mutation(() => Int)
  @RateLimit(SHARED)
  act(): number {
    return 6;
  }
}

const never = <T>(): Promise<T> => new Promise<T>(() => {});

function begin(
  driver: Driver,
  options: RateLimitModuleOptions,
  providers: NonNullable<Parameters<typeof startGraphql>[1]['providers']> = [Rides],
): Promise<GraphqlApp> {
  const limiter = RateLimitModule.forRoot({ deadline: DEADLINE_MS, ...options });
  return startGraphql(driver, { imports: [limiter], providers });
}

const aliases = (count: number, field: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `a${i}: ${field(i)}`).join(' ');

/** Asks, and expects the answer before a second deadline: two decisions in turn take longer. */
async function inOneDeadline(app: GraphqlApp, query: string): Promise<Awaited<ReturnType<GraphqlApp['ask']>>> {
  const { result, ms } = await measured(() => app.ask(query));
  expect(ms).toBeLessThan(DEADLINE_MS * 1.8);
  return result;
}

describe.each(DRIVERS)('with %s', (driver) => {
  it.each([
    ['open', []],
    ['local', []],
    ['closed', ['RATE_LIMIT_UNAVAILABLE']],
  ] as const)('a store that hangs is asked once for many aliases: %s', async (onStoreFailure, expected) => {
    const store = ToldStore.hanging();
    const events: DecisionEvent[] = [];
    await using app = await begin(driver, { store, onStoreFailure, onDecision: (event) => events.push(event) });
    const reply = await inOneDeadline(app, `{ ${aliases(MANY, () => 'shared')} }`);
    expect([...new Set(codes(reply))]).toEqual(expected);
    expect(store.asked).toHaveLength(1);
    expect(events.map(({ source }) => source)).toEqual([onStoreFailure]);
  });

  it.each([
    ['open', 'root-field'],
    ['local', 'root-field'],
    ['closed', 'root-field'],
    ['open', 'field'],
  ] as const)(
    'a store that hangs is waited for once by many mutations in turn: %s, each %s',
    async (onStoreFailure, count) => {
      const store = ToldStore.hanging();
      const contexts = [graphqlContext({ count })];
      await using app = await begin(driver, { store, onStoreFailure, contexts });
      const reply = await inOneDeadline(app, `mutation { ${aliases(MANY, () => 'perform')} }`);
      const ends = { open: [], local: ['RATE_LIMITED'], closed: ['RATE_LIMIT_UNAVAILABLE'] };
      expect([...new Set(codes(reply))]).toEqual(ends[onStoreFailure]);
      expect(store.asked).toHaveLength(1);
    },
  );

  it('functions that hang are waited for once by many mutations in turn', async () => {
    @Resolver()
    class Hanging {
      @Query(() => Int)
      none(): number {
        return 0;
      }

      @Mutation(() => Int)
      @RateLimit({ ...SHARED, limit: MANY, by: () => never() })
      identity(): number {
        return 1;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store }, [Hanging]);
    const { data } = await inOneDeadline(app, `mutation { ${aliases(MANY, () => 'identity')} }`);
    expect(Object.keys(data!)).toHaveLength(MANY);
    expect(store.asked).toHaveLength(MANY);
  });

  it.each(['cost', 'skipIf', 'choose'] as const)(
    'a %s function that hangs is waited for once by mutations in turn',
    async (which) => {
      const policy = { ...SHARED, limit: MANY };
      const hanging: PolicySource =
        which === 'choose' ? { choose: () => never(), fallback: policy } : { ...policy, [which]: () => never() };
      @Resolver()
      class Hanging {
        @Query(() => Int)
        none(): number {
          return 0;
        }

        @Mutation(() => Int)
        @RateLimit(hanging)
        late(): number {
          return 1;
        }
      }
      await using app = await begin(driver, { store: new StillStore() }, [Hanging]);
      const { data } = await inOneDeadline(app, `mutation { ${aliases(MANY, () => 'late')} }`);
      expect(Object.keys(data!)).toHaveLength(MANY);
    },
  );

  it('a Redis that hangs is waited for once', async () => {
    await using server = await RedisServer.start();
    await using app = await begin(driver, { redis: server.url, onStoreFailure: 'open' });
    server.pause();
    try {
      const { data } = await inOneDeadline(app, `{ ${aliases(MANY, () => 'shared')} both other }`);
      expect(Object.keys(data!)).toHaveLength(MANY + 2);
    } finally {
      server.resume();
    }
  });

  it('an identity function that hangs is waited for once', async () => {
    @Resolver()
    class Hanging {
      @Query(() => Int)
      @RateLimit({ ...SHARED, by: () => never() })
      one(): number {
        return 1;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store }, [Hanging]);
    const { data } = await inOneDeadline(app, `{ ${aliases(MANY, () => 'one')} }`);
    expect(Object.keys(data!)).toHaveLength(MANY);
    expect(store.asked).toHaveLength(1);
  });

  it('cost, skipIf and policy functions that hang are waited for once', async () => {
    @Resolver()
    class Hanging {
      @Query(() => Int)
      @RateLimit({ ...SHARED, cost: () => never() })
      cost(): number {
        return 1;
      }

      @Query(() => Int)
      @RateLimit({ ...SHARED, skipIf: () => never() })
      skip(): number {
        return 2;
      }

      @Query(() => Int)
      @RateLimit({ choose: () => never(), fallback: SHARED })
      choice(): number {
        return 3;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store }, [Hanging]);
    const fields = (['cost', 'skip', 'choice'] as const).map((field) =>
      Array.from({ length: Math.floor(MANY / 3) }, (_, i) => `${field}${i}: ${field}`).join(' '),
    );
    const { errors } = await inOneDeadline(app, `{ ${fields.join(' ')} }`);
    expect(errors).toBeUndefined();
    expect(store.asked).toHaveLength(1);
  });

  it('different policies of an operation wait for one deadline together', async () => {
    const store = ToldStore.hanging();
    await using app = await begin(driver, { store, onStoreFailure: 'open' });
    const { errors } = await inOneDeadline(app, '{ shared both other strict passing page(n: 2) more: page(n: 5) }');
    expect(errors).toBeUndefined();
    // What waited for a policy of another field is decided without the store, which has missed the operation's deadline.
    expect(policiesOf(store.asked)).toEqual([['shared'], ['other'], ['one', 'passing'], ['page']]);
  });

  it('a store that fails at once is asked once for each policy', async () => {
    const store = ToldStore.failing();
    await using app = await begin(driver, { store, onStoreFailure: 'closed' });
    const reply = await app.ask(`{ ${aliases(MANY, (i) => (i % 2 === 0 ? 'shared' : 'other'))} }`);
    expect(new Set(codes(reply))).toEqual(new Set(['RATE_LIMIT_UNAVAILABLE']));
    expect(policiesOf(store.asked)).toEqual([['shared'], ['other']]);
  });

  it('a policy that must have the store fails alone', async () => {
    @Resolver()
    class Mixed {
      @Query(() => Int, { nullable: true })
      @RateLimit({ ...WINDOW, name: 'closed', onStoreFailure: 'closed' }, SHARED)
      closed(): number {
        return 1;
      }

      @Query(() => Int, { nullable: true })
      @RateLimit(SHARED)
      open(): number {
        return 2;
      }
    }
    const store = ToldStore.failing();
    await using app = await begin(driver, { store, onStoreFailure: 'open' }, [Mixed]);
    const { data, errors } = await app.ask('{ a: closed b: open c: closed d: open }');
    expect(data).toEqual({ a: null, b: 2, c: null, d: 2 });
    expect(errors!.map(({ path }) => path![0])).toEqual(['a', 'c']);
    expect(store.asked).toHaveLength(2);
  });

  it.each([
    ['at once', () => new StillStore()],
    ['later', () => ToldStore.slow()],
  ])('a rejection is decided once, and rejects no other policy: a store that answers %s', async (_, make) => {
    const store = make();
    const events: DecisionEvent[] = [];
    await using app = await begin(driver, { store, onDecision: (event) => events.push(event) });
    expect((await app.ask('{ strict }')).data).toEqual({ strict: 4 });
    const reply = await app.post({ query: `{ passing ${aliases(MANY, () => 'strict')} more: passing }` });
    const { errors } = (await reply.json()) as { errors: { path: string[]; extensions: { policy: string } }[] };
    expect(errors.map(({ path }) => path[0])).not.toContain('passing');
    expect(errors.map(({ path }) => path[0])).not.toContain('more');
    expect(new Set(errors.map(({ extensions }) => extensions.policy))).toEqual(new Set(['one']));
    expect(policiesOf(store.asked)).toEqual([['one', 'passing'], ['passing'], ['one']]);
    expect(events.map(({ decision }) => decision.allowed)).toEqual([true, true, false]);
  });

  it('charges the largest cost, in whatever order the fields ask', async () => {
    const store = ToldStore.slow();
    await using app = await begin(driver, { store });
    const { data } = await app.ask('{ a: page(n: 2) b: page(n: 20) c: page(n: 19) d: page(n: 1) }');
    expect(data).toEqual({ a: 2, b: 20, c: 19, d: 1 });
    expect(store.asked.flat().map(({ cost }) => cost)).toEqual([2, 18]);
  });

  it('a cost that is rejected leaves a smaller one its own decision', async () => {
    @Resolver()
    class Pages {
      @Query(() => Int, { nullable: true })
      @RateLimit({ ...WINDOW, name: 'page', cost: (_, context) => context.getArgByIndex<{ n: number }>(1).n })
      page(@Args('n', { type: () => Int }) n: number): number {
        return n;
      }
    }
    const store = ToldStore.slow();
    await using app = await begin(driver, { store }, [Pages]);
    await app.ask('{ page(n: 10) }');
    const { data } = await app.ask('{ a: page(n: 11) b: page(n: 15) c: page(n: 3) d: page(n: 12) e: page(n: 2) }');
    expect(data).toEqual({ a: null, b: null, c: 3, d: null, e: 2 });
    expect(store.asked.slice(1).map(([charge]) => charge!.cost)).toEqual([11, 3]);
  });

  it('each identity that the arguments name is decided, all of them within one deadline', async () => {
    const store = ToldStore.hanging();
    await using app = await begin(driver, { store, onStoreFailure: 'local' });
    const { errors } = await inOneDeadline(app, `{ ${aliases(60, (i) => `account(id: ${i % 30})`)} }`);
    expect(errors).toBeUndefined();
    expect(store.asked).toHaveLength(30);
  });

  it("count: 'field' still counts each", async () => {
    const store = ToldStore.slow();
    const contexts = [graphqlContext({ count: 'field' })];
    await using app = await begin(driver, { store, contexts });
    const { errors } = await app.ask(`{ ${aliases(25, () => 'shared')} }`);
    expect([errors?.length, store.asked.length]).toEqual([1, 25]);
  });

  it('each operation of a batch has its own decision, all within one deadline', async () => {
    const store = ToldStore.hanging();
    await using app = await begin(driver, { store, onStoreFailure: 'open' });
    const queries = Array.from({ length: 20 }, () => `{ ${aliases(50, () => 'shared')} }`);
    const { result, ms } = await measured(() => app.batch(...queries));
    expect(ms).toBeLessThan(DEADLINE_MS * 1.8);
    expect(result.map(({ data }) => Object.keys(data!).length)).toEqual(queries.map(() => 50));
    expect(store.asked).toHaveLength(20);
  });
});

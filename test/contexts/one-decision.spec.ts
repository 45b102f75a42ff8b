import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { expect, it } from '@jest/globals';
import { graphqlContext, type PolicySource, RateLimit } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { ToldStore } from '../support/told-store.js';
import { codes, type Driver } from './support/graphql-app.js';
import { aliases, begin } from './support/riders.js';

/** So many deadlines in turn take longer than a test may. */
const MANY = 200;
const DEADLINE_MS = 1_000;

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
const SHARED = { ...WINDOW, limit: MANY, name: 'shared', scope: 'app' } as const;
const CLASSED = {
  ...WINDOW,
  limit: 4,
  name: 'classed',
  scope: 'app',
  priorities: { rides: 1, estimates: 0.5 },
} as const;
const never = <T>(): Promise<T> => new Promise<T>(() => {});

@Resolver()
class Rides {
  @Query(() => Int, { nullable: true })
  @RateLimit(SHARED)
  shared(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...SHARED, name: 'closed', onStoreFailure: 'closed' }, SHARED)
  closed(): number {
    return 2;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...WINDOW, limit: 20, name: 'page', cost: (_, context) => context.getArgByIndex<{ n: number }>(1).n })
  page(@Args('n', { type: () => Int }) n: number): number {
    return n;
  }

  @Mutation(() => Int, { nullable: true })
  @RateLimit(SHARED)
  perform(): number {
    return 3;
  }
}

@Resolver()
class Classed {
  @Query(() => Int, { nullable: true })
  @RateLimit(CLASSED)
  ride(): number {
    return 4;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...CLASSED, priority: 'estimates' })
  estimate(): number {
    return 5;
  }
}

// Queries ask for their fields side by side, mutations one after the other.
it.each<[Driver, string, string]>([
  ['Apollo over Express', 'query', 'shared'],
  ['Mercurius', 'query', 'shared'],
  ['Mercurius', 'mutation', 'perform'],
])(
  'with %s, many fields of a %s wait once for a store that hangs, which is asked once',
  async (driver, type, field) => {
    const store = ToldStore.hanging();
    await using app = await begin(driver, { store, deadline: DEADLINE_MS, onStoreFailure: 'closed' }, {}, [Rides]);
    expect(new Set(codes(await app.ask(`${type} { ${aliases(MANY, field)} }`)))).toEqual(
      new Set(['RATE_LIMIT_UNAVAILABLE']),
    );
    expect(store.asked).toHaveLength(1);
  },
);

it.each<[string, PolicySource]>([
  ['by', { ...SHARED, by: () => never() }],
  ['choose', { choose: () => never(), fallback: SHARED }],
])('many fields wait once for a %s function that hangs', async (_, policy) => {
  @Resolver()
  class Hanging {
    @Query(() => Int)
    none(): number {
      return 0;
    }

    @Mutation(() => Int)
    @RateLimit(policy)
    act(): number {
      return 1;
    }
  }
  await using app = await begin('Mercurius', { deadline: DEADLINE_MS }, {}, [Hanging]);
  const { data } = await app.ask(`mutation { ${aliases(MANY, 'act')} }`);
  expect(Object.keys(data!)).toHaveLength(MANY);
});

it('a policy that must have the store fails alone, and the store is asked once for each', async () => {
  const store = ToldStore.failing();
  await using app = await begin('Mercurius', { store, onStoreFailure: 'open' }, {}, [Rides]);
  const { data } = await app.ask('{ a: closed b: shared c: closed d: shared }');
  expect(data).toEqual({ a: null, b: 1, c: null, d: 1 });
  expect(store.asked).toHaveLength(2);
});

it('fields that cost the same are charged once, and each other cost is charged by itself', async () => {
  await using app = await begin('Mercurius', { store: ToldStore.slow(), deadline: '10s' }, {}, [Rides]);
  await app.ask('{ a: page(n: 4) b: page(n: 4) c: page(n: 6) }');
  const { data } = await app.ask('{ a: page(n: 11) b: page(n: 3) c: page(n: 11) d: page(n: 3) e: page(n: 2) }');
  expect(data).toEqual({ a: null, b: 3, c: null, d: 3, e: 2 });
  // 5 are left.
  expect((await app.ask('{ a: page(n: 6) b: page(n: 5) }')).data).toEqual({ a: null, b: 5 });
});

it('fields of one class are charged once, and each other class by itself, whose part it fills', async () => {
  await using app = await begin('Mercurius', { store: new StillStore() }, {}, [Classed]);
  expect((await app.ask('{ a: ride b: ride c: estimate }')).data).toEqual({ a: 4, b: 4, c: 5 });
  // 2 are left, for rides.
  expect((await app.ask('{ a: ride c: estimate }')).data).toEqual({ a: 4, c: null });
  expect((await app.ask('{ a: ride }')).data).toEqual({ a: 4 });
  expect((await app.ask('{ a: ride }')).data).toEqual({ a: null });
});

it("count: 'field' still decides each, and waits once for a store that hangs", async () => {
  const options = { store: ToldStore.hanging(), contexts: [graphqlContext({ count: 'field' })] };
  await using app = await begin('Mercurius', { ...options, deadline: DEADLINE_MS, onStoreFailure: 'open' }, {}, [
    Rides,
  ]);
  expect((await app.ask(`mutation { ${aliases(MANY, 'perform')} }`)).errors).toBeUndefined();
});

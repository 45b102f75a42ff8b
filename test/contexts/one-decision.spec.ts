import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it, jest } from '@jest/globals';
import { type DecisionEvent, graphqlContext, type PolicySource, RateLimit } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { policiesOf, ToldStore } from '../support/told-store.js';
import { codes, type Driver } from './support/graphql-app.js';
import { aliases, begin } from './support/riders.js';

/** So many deadlines in turn take longer than a test may. */
const MANY = 200;
const DEADLINE_MS = 400;
jest.setTimeout((MANY * DEADLINE_MS) / 2);

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
const SHARED = { ...WINDOW, limit: MANY, name: 'shared', scope: 'app' } as const;
const never = <T>(): Promise<T> => new Promise<T>(() => {});

@Resolver()
class Rides {
  @Query(() => Int, { nullable: true })
  @RateLimit(SHARED)
  shared(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...WINDOW, name: 'one', limit: 1 }, { ...WINDOW, limit: 20, name: 'passing', scope: 'app' })
  strict(): number {
    return 4;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...WINDOW, limit: 20, name: 'passing', scope: 'app' })
  passing(): number {
    return 5;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...SHARED, name: 'closed', onStoreFailure: 'closed' }, SHARED)
  closed(): number {
    return 6;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...WINDOW, limit: 20, name: 'page', cost: (_, context) => context.getArgByIndex<{ n: number }>(1).n })
  page(@Args('n', { type: () => Int }) n: number): number {
    return n;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({
    ...SHARED,
    name: 'account',
    by: (_, context) => ({ kind: 'account', value: String(context.getArgByIndex<{ id: number }>(1).id) }),
  })
  account(@Args('id', { type: () => Int }) id: number): number {
    return id;
  }

  @Mutation(() => Int, { nullable: true })
  @RateLimit(SHARED)
  perform(): number {
    return 7;
  }
}

// Queries ask for their fields side by side, mutations one after the other.
describe.each<Driver>(['Apollo over Express', 'Mercurius'])('with %s', (driver) => {
  it.each([
    ['query', 'shared', 'open', []],
    ['query', 'shared', 'local', []],
    ['query', 'shared', 'closed', ['RATE_LIMIT_UNAVAILABLE']],
    ['mutation', 'perform', 'open', []],
    ['mutation', 'perform', 'closed', ['RATE_LIMIT_UNAVAILABLE']],
  ] as const)(
    'many fields of a %s wait once for a store that hangs: %s, %s',
    async (operation, field, choice, expected) => {
      const store = ToldStore.hanging();
      const events: DecisionEvent[] = [];
      const options = { store, deadline: DEADLINE_MS, onStoreFailure: choice };
      await using app = await begin(driver, { ...options, onDecision: (event) => events.push(event) }, {}, [Rides]);
      const reply = await app.ask(`${operation} { ${aliases(MANY, field)} }`);
      expect([...new Set(codes(reply))]).toEqual(expected);
      expect(store.asked).toHaveLength(1);
      expect(events[0]!.source).toBe(choice);
    },
  );

  it.each<[string, PolicySource]>([
    ['by', { ...SHARED, by: () => never() }],
    ['cost', { ...SHARED, cost: () => never() }],
    ['skipIf', { ...SHARED, skipIf: () => never() }],
    ['choose', { choose: () => never(), fallback: SHARED }],
  ])('many fields wait once for a %s function that hangs', async (_, policy) => {
    @Resolver()
    class Hanging {
      @Query(() => Int)
      @RateLimit(policy)
      one(): number {
        return 1;
      }

      @Mutation(() => Int)
      @RateLimit(policy)
      act(): number {
        return 1;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store, deadline: DEADLINE_MS }, {}, [Hanging]);
    const { data } = await app.ask(`{ ${aliases(MANY, 'one')} }`);
    expect(Object.keys(data!)).toHaveLength(MANY);
    expect(store.asked).toHaveLength(1);
    const { data: acted } = await app.ask(`mutation { ${aliases(MANY - 1, 'act')} }`);
    expect(Object.keys(acted!)).toHaveLength(MANY - 1);
  });

  it('different policies and identities of an operation wait for one deadline together, and so do those of a batch', async () => {
    const store = ToldStore.hanging();
    await using app = await begin(driver, { store, deadline: DEADLINE_MS, onStoreFailure: 'open' }, {}, [Rides]);
    const accounts = Array.from({ length: MANY }, (_, i) => `b${i}: account(id: ${i % 100})`).join(' ');
    const query = `{ shared strict passing page(n: 2) more: page(n: 5) ${accounts} }`;
    const replies = await app.batch(...Array.from({ length: 3 }, () => query));
    for (const { errors, data } of replies) expect([errors, Object.keys(data!).length]).toEqual([undefined, MANY + 5]);
    expect(store.asked).toHaveLength(3 * (100 + 3));
  });

  it('a policy that must have the store fails alone, and the store is asked once for each', async () => {
    const store = ToldStore.failing();
    await using app = await begin(driver, { store, onStoreFailure: 'open' }, {}, [Rides]);
    const { data } = await app.ask('{ a: closed b: shared c: closed d: shared }');
    expect(data).toEqual({ a: null, b: 1, c: null, d: 1 });
    expect(store.asked).toHaveLength(2);
  });

  it.each([
    ['at once', () => new StillStore()],
    ['later', () => ToldStore.slow()],
  ])('a rejection is decided once, and rejects no other policy: a store that answers %s', async (_, make) => {
    const store = make();
    await using app = await begin(driver, { store }, {}, [Rides]);
    expect((await app.ask('{ strict }')).data).toEqual({ strict: 4 });
    const { errors } = await app.ask(`{ passing ${aliases(MANY, 'strict')} more: passing }`);
    expect(new Set(errors!.map(({ extensions }) => extensions!['policy']))).toEqual(new Set(['one']));
    expect(errors).toHaveLength(MANY);
    expect(policiesOf(store.asked)).toEqual([['one', 'passing'], ['passing'], ['one']]);
  });

  it('charges the largest cost that passes, and a cost that is rejected leaves a smaller one its own decision', async () => {
    const store = ToldStore.slow();
    await using app = await begin(driver, { store }, {}, [Rides]);
    await app.ask('{ page(n: 10) }');
    const { data } = await app.ask('{ a: page(n: 11) b: page(n: 15) c: page(n: 3) d: page(n: 12) e: page(n: 2) }');
    expect(data).toEqual({ a: null, b: null, c: 3, d: null, e: 2 });
    expect(store.asked.slice(1).map(([charge]) => charge!.cost)).toEqual([11, 3]);
  });

  it("count: 'field' still decides each, and waits once for a store that hangs", async () => {
    const contexts = [graphqlContext({ count: 'field' })];
    const store = ToldStore.hanging();
    await using app = await begin(driver, { store, contexts, deadline: DEADLINE_MS, onStoreFailure: 'open' }, {}, [
      Rides,
    ]);
    expect((await app.ask(`mutation { ${aliases(MANY, 'perform')} }`)).errors).toBeUndefined();
    const slow = ToldStore.slow();
    await using other = await begin(driver, { store: slow, contexts }, {}, [Rides]);
    const { errors } = await other.ask(`{ ${aliases(25, 'passing')} }`);
    expect([errors!.length, slow.asked.length]).toEqual([5, 25]);
  });
});

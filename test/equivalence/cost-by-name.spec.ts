import { it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  createLimiter,
  type Identity,
  MemoryStore,
  type Policy,
  type RateLimiter,
  type RateLimitStore,
  RedisStore,
  type Reservation,
} from 'nestjs-floodgate';
import { algorithmOf } from '../support/algorithm-of.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { Counterfactual, type ModelCharge } from './counterfactual.js';

/** The policies that a call names, and the one that `quota` runs over to. */
const HEADS = ['requests', 'tokens', 'quota'] as const;
const NAMES = [...HEADS, 'credits'] as const;
type Name = (typeof NAMES)[number];
type Head = (typeof HEADS)[number];
type Cost = number | Readonly<Partial<Record<Name, number>>> | undefined;

type Act =
  | { readonly ask: 'consume' | 'reserve'; readonly of: readonly Head[]; readonly cost: Cost }
  | { readonly settle: number; readonly cost: Exclude<Cost, undefined> };

const MINUTE = 60_000_000;
const START = 19_900 * 86_400_000_000;
const ADA: Identity = { kind: 'user', value: 'ada' };

/** Any policy whose charges can be settled, and a cost of its own. */
const policies: fc.Arbitrary<Policy> = fc
  .record({
    limit: fc.integer({ min: 1, max: 20 }),
    cost: fc.constantFrom(undefined, undefined, 1, 2, 3),
    name: fc.constantFrom('token-bucket', 'fixed-window', 'sliding-window-log', 'sliding-window-counter'),
    overdraft: fc.constantFrom(0, 5),
  })
  .filter(({ limit, cost = 1 }) => cost <= limit)
  .map(({ name: algorithm, limit, cost, overdraft }) => {
    const shared = { algorithm, overdraft, ...(cost !== undefined && { cost }) };
    const own = algorithm === 'token-bucket' ? { capacity: limit, refill: `${limit}/m` } : { limit, window: '1m' };
    return { ...shared, ...own } as Policy;
  });

const units = fc.integer({ min: 0, max: 7 });
const someOf = <T>(names: readonly T[]): fc.Arbitrary<readonly T[]> => fc.subarray([...names], { minLength: 1 });

/** Costs of some of the policies of a call, and of what they run over to. */
function byName(of: readonly Head[]): fc.Arbitrary<Exclude<Cost, number | undefined>> {
  const names: readonly Name[] = of.includes('quota') ? [...of, 'credits'] : of;
  return fc.record(Object.fromEntries(names.map((name) => [name, units])), { requiredKeys: [] });
}

const asks: fc.Arbitrary<Act> = fc
  .record({ ask: fc.constantFrom('consume' as const, 'reserve' as const), of: someOf(HEADS) })
  .chain(({ ask, of }) =>
    fc.record({
      ask: fc.constant(ask),
      of: fc.constant(of),
      cost: fc.oneof(
        { weight: 1, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
        { weight: 6, arbitrary: byName(of) },
      ),
    }),
  );
const settles: fc.Arbitrary<Act> = fc.record({
  settle: fc.nat({ max: 3 }),
  cost: fc.oneof({ weight: 1, arbitrary: units }, { weight: 4, arbitrary: byName(HEADS) }),
});

const historyOf = fc.record({
  policies: fc.record({ requests: policies, tokens: policies, quota: policies, credits: policies }),
  steps: fc.array(
    fc.record({
      moveMs: fc.constantFrom(0, 0, 0, 1, 7_000, 30_000, 60_000),
      act: fc.oneof({ weight: 3, arbitrary: asks }, { weight: 2, arbitrary: settles }),
    }),
    { minLength: 2, maxLength: 20, size: '+1' },
  ),
});
type History = typeof historyOf extends fc.Arbitrary<infer T> ? T : never;

/** One policy, by itself. */
interface Alone {
  readonly policy: Policy;
  readonly model: Counterfactual;
  /** Whether the model counts as the store does. A bucket may give less back than was charged. */
  isExact: boolean;
}

/** What a reservation was charged, by the policy that a call has named. */
type Held = Partial<Record<Head, { readonly by: Name; readonly charge: ModelCharge }>>;

const named = (cost: Cost, name: Name): number | undefined => (typeof cost === 'object' ? cost[name] : cost);

/**
 * Plays a history, and compares each answer with policies that know nothing of each other: each is asked by itself whether its own cost
 * fits. The call passes if each row has one that says so, and charges these.
 */
async function play(
  { policies: given, steps }: History,
  open: (clock: () => number) => RateLimitStore,
): Promise<unknown[]> {
  let now = START;
  const limiter: RateLimiter = await createLimiter({
    store: open(() => now),
    policies: { ...given, quota: { ...given.quota, else: 'credits' } },
    denialCache: 0,
    deadline: '10s',
  });
  await limiter.start();
  const alone = Object.fromEntries(
    NAMES.map((name) => [
      name,
      { policy: given[name], model: new Counterfactual(algorithmOf(given[name])), isExact: true },
    ]),
  ) as Record<Name, Alone>;
  const reservations: { readonly reservation: Reservation; readonly held: Held; readonly of: readonly Head[] }[] = [];
  const said: unknown[] = [];

  const costOf = (head: Head, name: Name, cost: Cost): number => {
    const own = given[name].cost as number | undefined;
    const ofHead = name === head ? 1 : costOf(head, head, cost);
    return named(cost, name) ?? named(cost, head) ?? own ?? ofHead;
  };
  /** The first policy of a row that the call fits. */
  const takerOf = (head: Head, cost: Cost): Name | undefined => {
    const row: readonly Name[] = head === 'quota' ? [head, 'credits'] : [head];
    return row.find((name) => alone[name].model.fits(now, costOf(head, name, cost) || 1));
  };

  for (const { moveMs, act } of steps) {
    now += moveMs * 1_000;
    const about = (): object => ({ act, now: (now - START) / MINUTE });
    if ('ask' in act) {
      const { ask, of, cost } = act;
      const options = cost === undefined ? {} : { cost };
      const reservation = ask === 'reserve' ? await limiter.reserve([...of], ADA, options) : undefined;
      const decision = reservation?.decision ?? (await limiter.consume([...of], ADA, options));
      said.push(
        decision.allowed,
        decision.policies.map((one) => ({ ...one })),
      );
      const takers = of.map((head) => takerOf(head, cost));
      const fits = !takers.includes(undefined);
      const isExact = of.every((head) => alone[head].isExact) && alone.credits.isExact;
      expectHolds(isExact ? decision.allowed === fits : fits || !decision.allowed, about);
      if (!decision.allowed) continue;
      const held: Held = {};
      for (const [i, head] of of.entries()) {
        const { policy, insteadOf } = decision.policies[i]!;
        const by = policy as Name;
        expectHolds(!isExact || by === takers[i], about);
        expectHolds(insteadOf === (by === head ? undefined : head), about);
        held[head] = { by, charge: alone[by].model.charge(now, costOf(head, by, cost)) };
      }
      if (reservation !== undefined) reservations.push({ reservation, held, of });
    } else {
      const [one] = reservations.splice(-1 - (act.settle % Math.max(1, reservations.length)), 1);
      if (one === undefined) continue;
      // A name that is none of the reservation's is an error.
      const mine = (name: Name): boolean => (name === 'credits' ? one.of.includes('quota') : one.of.includes(name));
      const cost =
        typeof act.cost === 'number'
          ? act.cost
          : Object.fromEntries(Object.entries(act.cost).filter(([name]) => mine(name as Name)));
      const { settledBy, policies: settled } = await one.reservation.settle(cost);
      said.push(settled);
      expectSame(settledBy, 'store');
      for (const [i, head] of one.of.entries()) {
        const { by, charge } = one.held[head]!;
        const final = named(cost, by) ?? named(cost, head) ?? charge.cost;
        const { policy, charged, beyondOverdraft, refunded } = settled[i]!;
        expectSame([policy, charged + beyondOverdraft], [by, Math.max(0, final - charge.cost)]);
        expectHolds(final < charge.cost || refunded === 0, about);
        if (final < charge.cost && given[by].algorithm === 'token-bucket') alone[by].isExact = false;
        charge.cost = Math.min(charge.cost, final);
        alone[by].model.charge(now, charged);
      }
    }
    for (const name of NAMES) {
      const decision = await limiter.peek(name, ADA);
      // A peek of a full quota shows the credits.
      const { policy, remaining } = decision.policies[0]!;
      if (policy !== name) continue;
      const wanted = alone[name].model.seen(now).remaining;
      expectHolds(alone[name].isExact ? remaining === wanted : remaining <= wanted, () => ({
        ...about(),
        name,
        remaining,
        wanted,
      }));
      said.push(remaining);
    }
  }
  await limiter.close();
  return said;
}

const redis = useRedis();

it(
  'a call with a cost for each policy is what each policy says by itself, all or nothing, in memory and in Redis',
  async () => {
    const law = fc.asyncProperty(historyOf, async (history) => {
      await redis.client.flushdb();
      const inMemory = await play(history, (clock) => new MemoryStore({ clock }));
      const inRedis = await play(history, (clock) => new RedisStore(redis.client, { clock, maxSkew: 0 }));
      expectSame(inRedis, inMemory);
    });
    await fc.assert(law, histories());
  },
  HISTORY_TIMEOUT_MS,
);

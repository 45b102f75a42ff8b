import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, ChargeReceipt, RateLimitStore, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { anywhere, FALLBACK, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { callsOf, useOneNode } from '../support/faults/by-node.js';
import { loadPrograms } from '../support/programs.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

const redis = useRedis();

/** What one caller does in a turn. Receipts are those of earlier turns: a charge is settled once it is answered. */
type Act =
  | { readonly ask: Cost; readonly key: number; readonly mode: 'take' | 'reserve'; readonly both: boolean }
  | { readonly settle: number; readonly part: number; readonly plus: number }
  | { readonly refund: number; readonly mode: 'take' | 'reserve' };

interface TurnHistory {
  readonly policy: Parameters<typeof algorithmOf>[0];
  readonly start: number;
  readonly overdraft: number;
  readonly turns: readonly { readonly move: Move; readonly acts: readonly Act[] }[];
}

const pick = fc.nat({ max: 6 });
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ask: costs,
      key: fc.nat({ max: 2 }),
      mode: fc.constantFrom('take' as const, 'reserve' as const, 'reserve' as const),
      both: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      settle: pick,
      part: fc.constantFrom(0, 0, 0.1, 0.5, 1, 2, 5),
      plus: fc.integer({ min: -1, max: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ refund: pick, mode: fc.constantFrom('take' as const, 'reserve' as const) }) },
);

function turnsOf(name: AlgorithmName): fc.Arbitrary<TurnHistory> {
  // A log of more than 128 entries is a list.
  const large = { algorithm: name, limit: 400, [name === 'concurrency' ? 'lease' : 'window']: '1m' };
  const policies = policyOf(name);
  const isLog = name === 'sliding-window-log' || name === 'concurrency';
  return fc.record({
    policy: isLog ? fc.oneof(policies, fc.constant(large as unknown as TurnHistory['policy'])) : policies,
    start: starts,
    overdraft: fc.constantFrom(0, 1, 30),
    turns: fc.array(fc.record({ move: anywhere, acts: fc.array(act, { minLength: 1, maxLength: 8 }) }), {
      minLength: 2,
      maxLength: 12,
      size: '+1',
    }),
  });
}

/** Gives the turns to a store: `together`, as one turn of the event loop each, or one act after the other. */
async function play(
  { policy, start, overdraft, turns }: TurnHistory,
  open: (clock: () => number) => RateLimitStore,
  together: boolean,
): Promise<unknown[]> {
  const algorithm = algorithmOf(policy);
  const second = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1h' });
  const clock = new MovingClock(start, FALLBACK);
  const store = open(clock.read);
  const said: unknown[] = [];
  const verdicts: Verdict[] = [];
  /** What was charged and neither settled nor refunded, the latest last. */
  const held: Record<'take' | 'reserve', (readonly ChargeReceipt[])[]> = { take: [], reserve: [] };
  for (const { move, acts } of turns) {
    clock.move(move, algorithm, verdicts);
    const asked: Verdict[] = [];
    const charged: [mode: 'take' | 'reserve', receipts: readonly ChargeReceipt[]][] = [];
    const run = async (one: Act, place: number): Promise<unknown> => {
      if ('ask' in one) {
        const keys = one.both ? [`${one.key}`, 'second'] : [`${one.key}`];
        const charges = keys.map((key, i): Charge => ({
          key,
          algorithm: i === 0 ? algorithm : second,
          cost: i === 0 ? costFor(algorithm, one.ask) : 1,
          mode: one.mode,
        }));
        const verdict = await store.consume(charges);
        asked[place] = verdict;
        const receipts = verdict.charges.flatMap(({ receipt, resetAfter }, i) => {
          if (one.mode === 'reserve') return receipt ?? [];
          const { cost } = charges[i]!;
          return cost === 0 ? [] : { ...charges[i]!, at: verdict.at, resetAt: verdict.at + resetAfter };
        });
        if (verdict.allowed) charged[place] = [one.mode, receipts];
        return verdict;
      }
      const all = held['refund' in one ? one.mode : 'reserve'];
      const [receipts] = all.splice(-1 - (('settle' in one ? one.settle : one.refund) % Math.max(1, all.length)), 1);
      if (receipts === undefined) return undefined;
      if ('refund' in one) return store.refund!(receipts);
      const finalOf = (cost: number): number => Math.max(0, Math.floor(cost * one.part) + one.plus);
      return store.settle!(
        receipts.map((receipt) => ({
          receipt,
          finalCost: finalOf(receipt.cost),
          overdraft: Math.min(overdraft, receipt.algorithm.overdraft?.max ?? 0),
        })),
      );
    };
    if (together) said.push(...(await Promise.all(acts.map(run))));
    else for (const [i, one] of acts.entries()) said.push(await run(one, i));
    verdicts.push(...Object.values(asked));
    for (const [mode, receipts] of Object.values(charged)) held[mode].push(receipts);
  }
  return said;
}

describe('turns of charges and settlements on the same keys', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: one call settles and decides as one act after the other, even if the clock steps back',
    async (name) => {
      const skews = fc.constantFrom(0, 0, 1000);
      const property = fc.asyncProperty(turnsOf(name), skews, async (history, maxSkew) => {
        await redis.client.flushdb();
        const inRedis = await play(history, (clock) => new RedisStore(redis.client, { clock, maxSkew }), true);
        const inMemory = await play(history, (clock) => new MemoryStore({ clock, maxSkew }), false);
        expectSame(inRedis, inMemory);
      });
      await fc.assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

describe('a settlement, a refund and decisions of one turn', () => {
  const node = useOneNode();
  const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 10, refill: '1/h' });
  const charge = (key: string, mode: 'take' | 'reserve' = 'take'): Charge => ({ key, algorithm, cost: 3, mode });

  /** Returns what remains after each decision of the turn, and how often it called a program. */
  async function turn(store: RateLimitStore, calls: () => Promise<number>): Promise<[number[], number]> {
    const held = await Promise.all(['a', 'b'].map(async (key) => store.consume([charge(key, 'reserve')])));
    const [one, other] = held.map(({ charges }) => charges[0]!.receipt!);
    const before = await calls();
    const settled = store.settle!([{ receipt: one!, finalCost: 1, overdraft: 0 }]);
    const decided = ['a', 'b', 'c'].map((key) => store.consume([charge(key)]));
    const refunded = store.refund!([other!]);
    const verdicts = await Promise.all(decided.map(async (answer) => answer));
    await Promise.all([settled, refunded]);
    return [verdicts.map(({ charges }) => charges[0]!.remaining), (await calls()) - before];
  }

  it('are one EVALSHA although a bucket is charged thousands more: they are no entries of a log', async () => {
    await redis.client.flushdb();
    await loadPrograms(redis.client);
    const store = new RedisStore(redis.client);
    const large = algorithmOf({ algorithm: 'token-bucket', capacity: 100_000, refill: '1/h' });
    const asked: Charge = { key: 'large', algorithm: large, cost: 1, mode: 'reserve' };
    const { receipt } = (await store.consume([asked])).charges[0]!;
    const before = await callsOf(redis.client, 'evalsha');
    const settle = async (key: string): Promise<unknown> =>
      store.settle([{ receipt: { ...receipt!, key }, finalCost: 5_000, overdraft: 0 }]);
    const charged = [{ refunded: 0, charged: 4_999 }];
    expect(await Promise.all(['large', 'other'].map(settle))).toEqual([charged, charged]);
    expect((await callsOf(redis.client, 'evalsha')) - before).toBe(1);
  });

  it('are one EVALSHA on one server', async () => {
    await redis.client.flushdb();
    await loadPrograms(redis.client);
    const store = new RedisStore(redis.client);
    // The refund came after the decision of its key.
    expect(await turn(store, () => callsOf(redis.client, 'evalsha'))).toEqual([[6, 4, 7], 1]);
  });

  it('are one EVALSHA on a node of a Cluster, for keys of several slots', async () => {
    const store = node.open({});
    await store.consume([charge('ready')]);
    expect(await turn(store, () => callsOf(node.admin, 'evalsha'))).toEqual([[6, 4, 7], 1]);
  });
});

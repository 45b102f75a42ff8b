import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { assert, asyncProperty } from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/rate-limit/src/algorithms/core/algorithm.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { RateLimitStore, ChargeReceipt, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, rateOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

const DAY = 86_400_000_000;
const redis = useRedis();

/** A move of the clock, then a request, or the refund of an earlier one. */
interface Step {
  readonly move: Move;
  readonly act: { readonly cost: Cost } | { readonly refund: number };
}

interface History {
  readonly policy: Policy;
  readonly start: number;
  readonly steps: readonly Step[];
}

function historiesOf(name: AlgorithmName): fc.Arbitrary<History> {
  const act = fc.oneof(
    { weight: 3, arbitrary: fc.record({ cost: costs }) },
    { weight: 2, arbitrary: fc.record({ refund: fc.nat({ max: 5 }) }) },
  );
  const steps = fc.array(fc.record({ move: forwards, act }), { minLength: 2, maxLength: 40 });
  return fc.record({ policy: policyOf(name), start: starts, steps });
}

interface Kept {
  readonly charge: ChargeReceipt;
  readonly delay: number;
}

/** Gives a history to a store. It refunds recent requests, each at most once. */
async function play(
  { policy, start, steps }: History,
  open: (clock: () => number) => RateLimitStore,
): Promise<{ verdicts: Verdict[]; kept: Kept[]; algorithm: Algorithm }> {
  const algorithm = algorithmOf(policy);
  const clock = new MovingClock(start, 0);
  const store = open(clock.read);
  const verdicts: Verdict[] = [];
  let kept: Kept[] = [];
  for (const { move, act } of steps) {
    clock.move(move, algorithm, verdicts);
    if ('refund' in act) {
      const refunded = kept.at(-1 - act.refund);
      if (refunded === undefined) continue;
      kept = kept.filter((one) => one !== refunded);
      await store.refund!([refunded.charge]);
      continue;
    }
    const charge = { key: 'key', algorithm, cost: costFor(algorithm, act.cost) };
    const verdict = await store.consume([charge]);
    verdicts.push(verdict);
    const { resetAfter, delay } = verdict.charges[0]!;
    if (verdict.allowed && charge.cost > 0) {
      kept.push({ charge: { ...charge, at: verdict.at, resetAt: verdict.at + resetAfter }, delay });
    }
  }
  return { verdicts, kept, algorithm };
}

const inMemory = (clock: () => number): RateLimitStore => new MemoryStore({ clock });

describe('a refund', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: all requests that were not refunded would also pass without the refunded ones, and no two slots are too close',
    async (name) => {
      const property = asyncProperty(historiesOf(name), async (history) => {
        const { kept, algorithm } = await play(history, inMemory);
        let now = 0;
        const alone = new MemoryStore({ clock: () => now });
        for (const [i, { charge, delay }] of kept.entries()) {
          now = charge.at;
          const { allowed } = alone.consume([charge]);
          expectHolds(allowed, () => ({ charge, history, limit: algorithm.limit }));
          if (name !== 'leaky-bucket' || i === 0) continue;
          const { tokens, microseconds } = rateOf(algorithm);
          const before = kept[i - 1]!;
          const gap = charge.at + delay - (before.charge.at + before.delay);
          const least = microseconds * BigInt(before.charge.cost);
          // Both delays are rounded up to a microsecond.
          expectHolds(least <= BigInt(gap + 1) * tokens, () => ({ history, gap, charge }));
        }
      });
      await assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: right after the charge restores the state before it',
    async (name) => {
      const property = asyncProperty(historiesOf(name), costs, async (history, cost) => {
        let read = (): number => 0;
        const store = new MemoryStore({ clock: () => read() });
        const { algorithm, verdicts } = await play(history, (clock) => {
          read = clock;
          return store;
        });
        fc.pre(verdicts.length > 0);
        const charge = { key: 'key', algorithm, cost: Math.max(1, costFor(algorithm, cost)) };
        const before = store.consume([{ ...charge, cost: 0 }]);
        const { allowed, at, charges } = store.consume([charge]);
        // If slots are shorter than a microsecond, a queue cannot tell which one is the last.
        fc.pre(allowed && !(name === 'leaky-bucket' && algorithm.wire.numbers[0]! > algorithm.wire.numbers[1]!));
        store.refund([{ ...charge, at, resetAt: at + charges[0]!.resetAfter }]);
        expectSame(store.consume([{ ...charge, cost: 0 }]), before);
      });
      await assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it('of a log that has become a list: removes the entries of the charge', async () => {
    const algorithm = algorithmOf({ algorithm: 'sliding-window-log', limit: 1000, window: 60_000 });
    let now = 1_700_000_000_000_000;
    const store = new RedisStore(redis.client, { clock: () => now });
    const ask = async (cost: number): Promise<ChargeReceipt> => {
      const charge = { key: 'log', algorithm, cost };
      const { at, charges } = await store.consume([charge]);
      now += 10;
      return { ...charge, at, resetAt: at + charges[0]!.resetAfter };
    };
    const taken = [await ask(200), await ask(300), await ask(100)];
    expect(await redis.client.type('log')).toBe('list');
    await store.refund([taken[1]!]);
    expect((await ask(0)).resetAt).toBe(taken[2]!.resetAt);
    const left = (await contentsOf(redis.client, ['log']))[0]!.split(' ')[1]!.split(',');
    expect(left).toEqual([
      ...Array<string>(200).fill(`${taken[0]!.at}`),
      ...Array<string>(100).fill(`${taken[2]!.at}`),
    ]);
    await store.refund([taken[0]!, taken[2]!]);
    expect(await redis.client.exists('log')).toBe(0);
  });

  it('of a log whose other entries expired long ago: is made in Redis as in memory', async () => {
    const algorithm = algorithmOf({ algorithm: 'sliding-window-log', limit: 120, window: '1d' });
    const clock = new TestClock(19_900 * DAY);
    const answersOf = async (store: RateLimitStore): Promise<Verdict[]> => {
      clock.now = 19_900 * DAY;
      await store.consume([{ key: 'log', algorithm, cost: 1 }]);
      clock.now += 0.8 * DAY;
      const charge = { key: 'log', algorithm, cost: 119 };
      const { at, charges } = await store.consume([charge]);
      clock.now += 0.9 * DAY; // the first entry expired 0.7 days ago
      await store.refund!([{ ...charge, at, resetAt: at + charges[0]!.resetAfter }]);
      return [await store.consume([{ ...charge, cost: 0 }]), await store.consume([{ ...charge, cost: 120 }])];
    };
    const answers = await answersOf(new RedisStore(redis.client, { clock: clock.read }));
    expect(answers).toEqual(await answersOf(new MemoryStore({ clock: clock.read })));
    expect(answers.map(({ charges }) => charges[0]!.remaining)).toEqual([120, 0]);
  });

  it('of a state that is gone or unreadable: writes nothing', async () => {
    const store = new RedisStore(redis.client);
    const taken = (key: string): ChargeReceipt => ({
      key,
      algorithm: algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1h' }),
      cost: 1,
      at: 1_700_000_000_000_000,
      resetAt: 1_700_000_000_000_001,
    });
    await redis.client.set('text', 'text');
    await redis.client.hset('foreign', 'a', 'b');
    await store.refund(['text', 'foreign', 'gone'].map(taken));
    expect(await redis.client.get('text')).toBe('text');
    expect(await redis.client.hgetall('foreign')).toEqual({ a: 'b' });
    expect(await redis.client.exists('gone')).toBe(0);
  });
});

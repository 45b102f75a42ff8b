import { describe, expect, it } from '@jest/globals';
import { assert, asyncProperty, check, constantFrom } from 'fast-check';
import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import type { ChargeMark, Refunds } from '../../libs/rate-limit/src/algorithms/refunds/refunds.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { Clock, RateLimitStore } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS } from '../support/algorithm-of.js';
import { anywhere, FALLBACK, forwards } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { playSettlements, settlementHistoriesOf } from './settlement-histories.js';

const redis = useRedis();

const inMemory = (clock: Clock): RateLimitStore => new MemoryStore({ clock });
const inRedis = (clock: Clock): RateLimitStore => new RedisStore(redis.client, { clock });

describe.each([
  ['in memory', inMemory],
  ['in Redis', inRedis],
])('histories of reservations that are settled, cancelled, settled twice or never, %s', (_, open) => {
  it.each(ALL_ALGORITHMS)(
    '%s: no key is below its counterfactual, none is above its limit, and a lone refund is exact',
    async (name) => {
      const property = asyncProperty(settlementHistoriesOf(name, forwards), async (history) => {
        if (open === inRedis) await redis.client.flushdb();
        await playSettlements(history, { open, compare: true });
      });
      await assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

describe('histories of settlements', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: are the same in Redis and in memory, even if the clock steps back',
    async (name) => {
      const skews = constantFrom(0, 0, 1000);
      const property = asyncProperty(settlementHistoriesOf(name, anywhere), skews, async (history, maxSkewMs) => {
        await redis.client.flushdb();
        const said = await playSettlements(history, {
          open: (clock) => new RedisStore(redis.client, { clock, maxSkew: maxSkewMs }),
          compare: false,
          fallback: FALLBACK,
        });
        const wanted = await playSettlements(history, {
          open: (clock) => new MemoryStore({ clock, maxSkew: maxSkewMs }),
          compare: false,
          fallback: FALLBACK,
        });
        expectSame(said, wanted);
      });
      await assert(property, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

type Returnable = (state: object, now: number, cost: number, charge: ChargeMark) => number;

/** A token bucket with another rule for its refunds. */
function withRule(algorithm: Algorithm, rule: (due: Returnable) => Returnable): Algorithm {
  const refunds = algorithm.refunds as Refunds & { returnable: Returnable };
  const changed = Object.create(refunds) as typeof refunds;
  changed.returnable = rule(refunds.returnable.bind(refunds));
  return Object.create(algorithm, { refunds: { value: changed } }) as Algorithm;
}

describe('the comparison with the counterfactual', () => {
  it.each<[string, (due: Returnable) => Returnable]>([
    ['refunds the whole cost', () => (_, __, cost) => cost * 1e15],
    [
      'does not count the refunds that came between',
      (due) =>
        (state, now, cost, { refundMarker, ...charge }) =>
          due({ ...state, tail: undefined }, now, cost, { ...charge, refundMarker: [refundMarker![0]!, 0] }),
    ],
    [
      'refunds no more than the cost less what refilled since',
      (due) =>
        (state, now, cost, { refundMarker, ...charge }) =>
          due(state, now, cost, { ...charge, refundMarker: [0, refundMarker![1]!] }),
    ],
  ])(
    'finds a bucket that %s',
    async (_, rule) => {
      const property = asyncProperty(settlementHistoriesOf('token-bucket', forwards), async (history) => {
        const changed = (algorithm: Algorithm): Algorithm => withRule(algorithm, rule);
        await playSettlements(history, { open: inMemory, compare: true, changed });
      });
      const { failed } = await check(property, { ...histories(), numRuns: 20_000, endOnFailure: true });
      expect(failed).toBe(true);
    },
    120_000,
  );
});

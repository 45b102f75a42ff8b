import * as fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { PrefetchBucket } from '../../libs/floodgate/src/algorithms/token-bucket/prefetch-bucket.js';
import { exactRate } from '../../libs/floodgate/src/algorithms/core/rate.js';
import { TokenBucket } from '../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import type { ChargeReceipt } from '../../libs/floodgate/src/stores/receipt.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, ChargeMode, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { textbookOf } from '../support/textbook-of.js';

const ORIGIN = 1_719_360_000_000_000;
const LENGTH = 100_000;

/** A step of a history; `of` chooses among the prefetches, or the reservations, that were taken. */
const step = fc.record({
  kind: fc.constantFrom('take', 'take', 'peek', 'prefetch', 'prefetch', 'use', 'use', 'use', 'reserve', 'settle'),
  of: fc.nat({ max: 30 }),
  amount: fc.oneof(fc.constantFrom(1, 1, 2, 5), fc.nat({ max: 60 })),
  settles: fc.boolean(),
  wait: fc.oneof(
    fc.constantFrom(0, 0, 1),
    fc.nat({ max: LENGTH / 10 }),
    fc.nat({ max: LENGTH }),
    fc.nat({ max: 4 * LENGTH }),
    fc.constantFrom(LENGTH - 1, LENGTH, LENGTH + 1),
  ),
});

const history = fc.record({
  capacity: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 50, max: 400 })),
  refill: fc.constantFrom(1, 7, 100, 1 / 3, 1000, '3/7ms', 20_000),
  phase: fc.nat({ max: LENGTH - 1 }),
  stepsBack: fc.array(fc.record({ at: fc.nat({ max: 60 }), by: fc.nat({ max: 3 * LENGTH }) }), { maxLength: 1 }),
  steps: fc.array(step, { minLength: 1, maxLength: 60 }),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

const taken = { kind: 'prefetch', of: 0, amount: 5, settles: false, wait: 0 } as const;
/** Prefetches tokens, returns them unused with the next prefetch, and refunds a part of a reservation. */
const EACH: History = {
  capacity: 40,
  refill: 1,
  phase: 0,
  stepsBack: [],
  steps: [taken, { ...taken, settles: true }, { ...taken, kind: 'reserve' }, { ...taken, kind: 'settle', amount: 0 }],
};

interface Prefetch {
  readonly at: number;
  readonly granted: number;
  used: number;
}

const redis = useRedis();
const seen = { histories: 0, prefetched: 0, returned: 0, refunded: 0 };

async function giveToBoth({ capacity, refill, phase, stepsBack, steps }: History): Promise<void> {
  const key = `prefetched:${seen.histories++}`;
  const time = { now: ORIGIN + phase };
  const clock = (): number => time.now;
  const [memory, inRedis] = [new MemoryStore({ clock }), new RedisStore(redis.client, { clock, maxSkew: 0 })];
  const plain = new TokenBucket(capacity, exactRate(refill, capacity));
  const algorithm = new PrefetchBucket(plain, LENGTH);
  const consume = async (charge: Charge): Promise<Verdict> => {
    const verdict = memory.consume([charge]);
    expectSame(await inRedis.consume([charge]), verdict);
    return verdict;
  };
  /** Every token, when it was used. The textbook must admit them all. */
  const textbook = textbookOf(plain);
  const prefetches: Prefetch[] = [];
  const reserved: ChargeReceipt[] = [];
  let isOracle = stepsBack.length === 0;
  const admit = (cost: number): void => {
    const { now } = time;
    if (isOracle) expectHolds(textbook.fits(now, cost), () => ({ cost, now, capacity, refill }));
    if (isOracle) textbook.charge(now, cost);
  };
  for (const [i, { kind, of, amount, settles, wait }] of steps.entries()) {
    time.now += wait - (stepsBack.find(({ at }) => at === i)?.by ?? 0);
    const { now } = time;
    const [prefetch, receipt] = [
      prefetches[of % Math.max(1, prefetches.length)],
      reserved[of % Math.max(1, reserved.length)],
    ];
    if (kind === 'take' || kind === 'peek' || kind === 'reserve') {
      const mode: ChargeMode = kind;
      const { allowed, charges } = await consume({ key, algorithm, cost: amount, mode });
      if (allowed && kind !== 'peek') admit(amount);
      if (allowed && kind === 'reserve' && amount > 0) reserved.push(charges[0]!.receipt!);
      const { retryAfter } = charges[0]!;
      if (!allowed && retryAfter !== Infinity) {
        // Honest to the microsecond, also over the ends of prefetches.
        const peek: Charge = { key, algorithm, cost: amount, mode: 'peek' };
        time.now = now + retryAfter - 1;
        expectHolds(!(await consume(peek)).allowed, () => ({ retryAfter, amount, now }));
        time.now = now + retryAfter;
        expectHolds((await consume(peek)).allowed, () => ({ retryAfter, amount, now }));
        time.now = now;
      }
    } else if (kind === 'prefetch') {
      // A pod that does not settle has died, or its answer was lost.
      const settled =
        settles && prefetch !== undefined ? prefetches.splice(prefetches.indexOf(prefetch), 1)[0] : undefined;
      const charge: Charge = { key, algorithm: algorithm.prefetch.charge(amount, settled), cost: 1, mode: 'reserve' };
      const { at, allowed, charges } = await consume(charge);
      const [granted] = charges[0]!.receipt!.refundMarker!;
      expectHolds(allowed && at === now && granted! <= amount, () => ({ allowed, at, now, granted, amount }));
      prefetches.push({ at, granted: granted!, used: 0 });
      seen.prefetched += granted!;
      if (settled !== undefined && now < settled.at + LENGTH) seen.returned += settled.granted - settled.used;
    } else if (kind === 'use' && prefetch !== undefined && now <= prefetch.at + LENGTH) {
      const used = Math.min(amount, prefetch.granted - prefetch.used);
      prefetch.used += used;
      admit(used);
    } else if (kind === 'settle' && receipt !== undefined) {
      reserved.splice(reserved.indexOf(receipt), 1);
      const settlement = { receipt, finalCost: Math.min(amount, receipt.cost + 3), overdraft: 0 };
      const [inMemory] = memory.settle([settlement]);
      expectSame((await inRedis.settle([settlement]))[0], inMemory);
      seen.refunded += inMemory!.refunded!;
      // From a refund on, the admissions are no longer those of a history of charges alone.
      if (inMemory!.refunded! > 0) isOracle = false;
      else admit(inMemory!.charged);
    }
  }
}

describe('a token bucket that prefetches tokens', () => {
  it(
    'admits no more than its textbook, whoever uses the tokens when, and is the same in both stores',
    async () => {
      await fc.assert(fc.asyncProperty(history, giveToBoth), { ...histories(3), examples: [[EACH]] });
      expect(Math.min(seen.prefetched, seen.returned, seen.refunded)).toBeGreaterThan(0);
    },
    HISTORY_TIMEOUT_MS,
  );
});

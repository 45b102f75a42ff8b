import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { type ChargeReceipt, receiptsOf } from '../../libs/floodgate/src/stores/receipt.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

const ORIGIN = 1_719_360_000_000_000;
const LEASE = 10_000_000;
/** How long a lease lasts that is granted, until its first renewal. */
const GRANTED = 5_000_000;

/** A step of a history; `of` chooses among the leases that were not released, ended ones included. */
const step = fc.record({
  kind: fc.constantFrom('take', 'take', 'grant', 'grant', 'renew', 'renew', 'release'),
  of: fc.nat({ max: 30 }),
  cost: fc.constantFrom(1, 1, 1, 2, 3),
  limit: fc.constantFrom(0, 0, 0, 1),
  wait: fc.oneof(
    fc.constantFrom(0, 0, 1),
    fc.nat({ max: LEASE / 2 }),
    fc.constantFrom(LEASE - 1, LEASE, LEASE + 1, GRANTED, GRANTED - 1),
  ),
});

const history = fc.record({
  limits: fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 })),
  large: fc.boolean(),
  stepsBack: fc.array(fc.record({ at: fc.nat({ max: 40 }), by: fc.nat({ max: 2 * LEASE }) }), { maxLength: 1 }),
  steps: fc.array(step, { minLength: 1, maxLength: 40 }),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

const took = { kind: 'take', of: 0, cost: 1, limit: 0, wait: 0 } as const;
/** A lease ends, another one is renewed at that instant, and the clock steps back by a microsecond: the first has still ended. */
const FORGOTTEN: History = {
  limits: [2, 1],
  large: false,
  stepsBack: [{ at: 3, by: 1 }],
  steps: [took, { ...took, wait: LEASE - 1 }, { ...took, kind: 'renew', of: 1, wait: 1 }, took],
};

interface Held {
  readonly cost: number;
  receipt: ChargeReceipt;
}

const redis = useRedis();
let historiesGiven = 0;
let renewals = 0;
beforeEach(() => {
  [historiesGiven, renewals] = [0, 0];
});

async function giveToBoth({ limits, large, stepsBack, steps }: History): Promise<void> {
  const key = `leases:${historiesGiven++}`;
  const time = { now: ORIGIN };
  const clock = (): number => time.now;
  const [memory, inRedis] = [new MemoryStore({ clock }), new RedisStore(redis.client, { clock, maxSkew: 0 })];
  // More leases than fit one string.
  const times = large ? 60 : 1;
  const algorithms = limits.map((limit) =>
    algorithmOf({ algorithm: 'concurrency', limit: limit * times, lease: LEASE / 1000 }),
  );
  /** The leases that were taken and not released, whether they have ended or not. */
  const taken: Held[] = [];
  const consumeTogether = async (charges: readonly Charge[]): Promise<readonly Verdict[]> => {
    const verdicts = charges.map((charge) => memory.consume([charge]));
    expectSame(await Promise.all(charges.map(async (charge) => inRedis.consume([charge]))), verdicts);
    return verdicts;
  };
  const consume = async (charge: Charge): Promise<Verdict> => (await consumeTogether([charge]))[0]!;
  let everSteppedBack = false;
  for (const [i, { kind, of, limit, wait, ...given }] of steps.entries()) {
    const cost = given.cost * times;
    const back = stepsBack.find(({ at }) => at === i);
    everSteppedBack ||= back !== undefined;
    time.now += wait - (back?.by ?? 0);
    const { now } = time;
    const algorithm = algorithms[limit]!;
    const held = taken[of % Math.max(1, taken.length)];
    if (kind === 'take' || kind === 'grant') {
      const asked = { key, algorithm: kind === 'take' ? algorithm : algorithm.lease!.grant, cost };
      // Of one call: identical ones, and another one.
      const together = of % 3 === 0 ? [asked, asked, { ...asked, cost: 1 }, asked] : [asked];
      const verdicts = await consumeTogether(together);
      for (const [j, one] of together.entries()) {
        const [receipt] = receiptsOf([one], verdicts[j]!);
        if (receipt !== undefined) taken.push({ cost: one.cost, receipt });
      }
    } else if (held !== undefined && kind === 'renew') {
      const renewal = algorithm.lease!.renewal(held.receipt.resetAt);
      const { allowed, charges } = await consume({ key, algorithm: renewal, cost: held.cost });
      if (allowed) {
        renewals++;
        held.receipt = { ...held.receipt, at: now, resetAt: now + charges[0]!.resetAfter };
      }
    } else if (held !== undefined) {
      memory.refund([held.receipt]);
      await inRedis.refund([held.receipt]);
      taken.splice(taken.indexOf(held), 1);
    }
    const inUse = taken.filter(({ receipt }) => receipt.resetAt > now).reduce((sum, lease) => sum + lease.cost, 0);
    const most = Math.max(...algorithms.map((one) => one.limit));
    // A clock that steps back makes leases longer or shorter, so that only the stores agree.
    expectHolds(everSteppedBack || inUse <= most, () => ({ inUse, most, i, kind }));
    const peek: Charge = { key, algorithm, cost: 0 };
    const { charges } = await consume(peek);
    expectHolds(everSteppedBack || charges[0]!.remaining === Math.max(0, algorithm.limit - inUse), () => ({
      inUse,
      i,
      kind,
    }));
  }
}

describe('leases that are taken, renewed and released, in any order and late', () => {
  it(
    'are the same in both stores, and never more than the limit',
    async () => {
      await fc.assert(fc.asyncProperty(history, giveToBoth), { ...histories(), examples: [[FORGOTTEN]] });
      expect(renewals).toBeGreaterThan(0);
    },
    HISTORY_TIMEOUT_MS,
  );
});

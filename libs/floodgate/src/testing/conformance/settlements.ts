import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import type { ChargeReceipt } from '../../stores/receipt.js';
import { MINUTE, SECOND } from './instants.js';
import type { SettledCharge } from '../../stores/store.js';
import { eachOf, type Law, type Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';

/** A law of stores that settle. A store without `settle` is not asked. */
function settling(law: Law): Law {
  return async (open) => {
    if ((await open()).settles) await law(open);
  };
}

const none = { refunded: 0, charged: 0 };
/** 10 tokens, and one more each second. */
const BUCKET = algorithmOf({ algorithm: 'token-bucket', capacity: 10, refill: 1 });

/** Before, at and after the edges of windows and leases of a second, and where a bucket has refilled. */
const SETTLED_AT = [0, 0.5, 0.999_999, 1, 1.25, 1.5, 1.999_999, 2, 60].map((seconds) => seconds * SECOND);

/** What holds for reservations that are settled. */
export const SETTLEMENTS: Laws = {
  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: a settlement at once leaves what its final cost would have left`,
    (name) =>
      settling(async (open) => {
        const algorithm = algorithmOf(SMALL_POLICIES[name]);
        for (let finalCost = 0; finalCost <= 4; finalCost++) {
          const timeline = await open();
          const receipts = await timeline.reserve(0, [algorithm, 2, `${finalCost}`]);
          const settled = await timeline.settle(0, receipts, finalCost, 4);
          const expected = { refunded: Math.max(0, 2 - finalCost), charged: Math.max(0, finalCost - 2) };
          expectSame(`2 reserved, settled at ${finalCost}`, settled, [expected]);
          await timeline.charge(0, algorithm, finalCost, `plain ${finalCost}`);
          const plain = await timeline.charge(0, algorithm, 0, `plain ${finalCost}`);
          expectSame(`at ${finalCost}`, await timeline.charge(0, algorithm, 0, `${finalCost}`), plain);
        }
      }),
  ),

  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: a settlement charges up to the overdraft, and later requests wait for it`,
    (name) =>
      settling(async (open) => {
        const algorithm = algorithmOf(SMALL_POLICIES[name]);
        const timeline = await open();
        const receipts = await timeline.reserve(0, [algorithm, algorithm.maxCost]);
        expectSame('9 more, of which 2 may be charged', await timeline.settle(0, receipts, algorithm.maxCost + 9, 2), [
          { refunded: 0, charged: 2 },
        ]);
        const rejected = await timeline.charge(0, algorithm, 1);
        expectFields('a request after it', rejected, { allowed: false, remaining: 0 });
        const { retryAfter } = rejected;
        const before = await timeline.charge(retryAfter - 1, algorithm, 1);
        expectFields('a microsecond before retryAfter', before, { allowed: false, retryAfter: 1 });
        expectFields('at retryAfter', await timeline.charge(retryAfter, algorithm, 1), { allowed: true });
      }),
  ),

  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: a late settlement refunds nothing, and charges more at once`,
    (name) =>
      settling(async (open) => {
        const algorithm = algorithmOf(SMALL_POLICIES[name]);
        const timeline = await open();
        const [less, more] = [await timeline.reserve(0, [algorithm, 2]), await timeline.reserve(0, [algorithm, 2])];
        await timeline.charge(MINUTE, algorithm, 2);
        const before = await timeline.charge(MINUTE, algorithm, 0);
        expectSame('less', await timeline.settle(MINUTE, less, 0), [none]);
        expectSame('the state', await timeline.charge(MINUTE, algorithm, 0), before);
        expectSame('more', await timeline.settle(MINUTE, more, 4), [{ refunded: 0, charged: 2 }]);
        await timeline.charge(MINUTE, algorithm, 4, 'plain');
        const plain = await timeline.charge(MINUTE, algorithm, 0, 'plain');
        expectSame('the state after it', await timeline.charge(MINUTE, algorithm, 0), plain);
      }),
  ),

  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: a settlement says what it gives back, whenever it comes`,
    (name) =>
      settling(async (open) => {
        const algorithm = algorithmOf(SMALL_POLICIES[name]);
        for (const at of SETTLED_AT) {
          for (const others of [0, 1]) {
            const timeline = await open();
            const key = `${at} ${others}`;
            const left = async (): Promise<number> => {
              const { remaining, resetAfter } = await timeline.charge(at, algorithm, 0, key);
              // The departing request of a queue takes no waiting place.
              return algorithm.delays && resetAfter === 0 ? remaining + 1 : remaining;
            };
            await timeline.charge(0, algorithm, others, key);
            const receipts = await timeline.reserve(0, [algorithm, 2, key]);
            await timeline.charge(Math.min(at, SECOND / 4), algorithm, others, key);
            const before = await left();
            const [settled] = (await timeline.settle(at, receipts, 0)) as SettledCharge[];
            const gained = (await left()) - before;
            // A bucket refunds parts of a token, and `remaining` is whole.
            const off = Math.abs(gained - settled!.refunded!);
            const said = `after ${at} microseconds, beside ${2 * others}: refunded ${settled!.refunded}, gained ${gained}`;
            expectSame(said, { isTrue: off < 1 && (settled!.refunded! > 0 || gained === 0) }, { isTrue: true });
          }
        }
      }),
  ),

  ...eachOf(
    ALGORITHM_NAMES,
    (name) =>
      `${name}: a rejection knows whether it would pass without the charges that are open, if it says so at all`,
    (name) =>
      settling(async (open) => {
        const algorithm = algorithmOf(SMALL_POLICIES[name]);
        const { maxCost } = algorithm;
        for (let used = 0; used < maxCost; used++) {
          for (let cost = 1; cost <= maxCost; cost++) {
            const timeline = await open();
            const key = `${used} ${cost}`;
            await timeline.charge(0, algorithm, used, key);
            const receipts: ChargeReceipt[] = [];
            for (let i = used; i < maxCost; i++) receipts.push(...(await timeline.reserve(0, [algorithm, 1, key])));
            const { shortfall } = await timeline.rejected(0, algorithm, cost, key);
            if (shortfall === undefined) return;
            const some = receipts.slice(1);
            expectSame(`without ${some.length}`, [shortfall.fitsWithout(some)], [cost <= some.length]);
            const fits = shortfall.fitsWithout(receipts);
            for (const receipt of receipts.toReversed()) await timeline.settle(0, [receipt], 0);
            expectFields('after their refunds', await timeline.charge(0, algorithm, cost, key), { allowed: fits });
          }
        }
      }),
  ),

  'settles several policies together': settling(async (open) => {
    const other = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1m' });
    const timeline = await open();
    const receipts = await timeline.reserve(0, [BUCKET, 4, 'one'], [other, 4, 'other']);
    expectSame('at 1', await timeline.settle(0, receipts, 1), [
      { refunded: 3, charged: 0 },
      { refunded: 3, charged: 0 },
    ]);
    expectFields('the bucket', await timeline.charge(0, BUCKET, 0, 'one'), { remaining: 9 });
    expectFields('the window', await timeline.charge(0, other, 0, 'other'), { remaining: 4 });
  }),

  'token-bucket: refunds what the refill would not have wasted, and no more': settling(async (open) => {
    const timeline = await open();
    await timeline.charge(0, BUCKET, 3);
    const receipts = await timeline.reserve(0, [BUCKET, 5]);
    // After 5 s the refill has paid off the 3 of before, the 1 that stays, and would have wasted one.
    expectSame('4 less, after 5 s', await timeline.settle(5 * SECOND, receipts, 1), [{ refunded: 3, charged: 0 }]);
    expectFields('the bucket', await timeline.charge(5 * SECOND, BUCKET, 0), { remaining: 10 });
  }),

  'token-bucket: a debt that was refunded does not count for another refund': settling(async (open) => {
    const timeline = await open();
    const first = await timeline.reserve(0, [BUCKET, 5]);
    const second = await timeline.reserve(0, [BUCKET, 5]);
    expectSame('the first', await timeline.settle(0, first, 0), [{ refunded: 5, charged: 0 }]);
    // The bucket is full after 5 s, so all that was charged since is owed.
    await timeline.charge(5 * SECOND, BUCKET, 10);
    expectSame('the second, after 5 s', await timeline.settle(5 * SECOND, second, 0), [none]);
    expectFields('the bucket', await timeline.charge(5 * SECOND, BUCKET, 0), { remaining: 0 });
  }),
};

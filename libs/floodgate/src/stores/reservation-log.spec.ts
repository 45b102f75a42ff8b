import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Algorithm } from '../algorithms/core/algorithm.js';
import { Calendar } from '../algorithms/fixed-window/calendar.js';
import { Concurrency } from '../algorithms/concurrency/concurrency.js';
import { CalendarWindows, FixedWindow } from '../algorithms/fixed-window/fixed-window.js';
import { LeakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.js';
import { PrefetchBucket } from '../algorithms/token-bucket/prefetch-bucket.js';
import { exactRate } from '../algorithms/core/rate.js';
import { SlidingWindowCounter } from '../algorithms/sliding-window-counter/sliding-window-counter.js';
import { SlidingWindowLog } from '../algorithms/sliding-window-log/sliding-window-log.js';
import { TokenBucket } from '../algorithms/token-bucket/token-bucket.js';
import type { ChargeSettlement } from './receipt.js';
import { isLoggable, readReservation, reservationText } from './reservation-log.js';

const bucket = new TokenBucket(20, exactRate('7/11ms', 20));
const ALGORITHMS: readonly Algorithm[] = [
  bucket,
  bucket.shares.of(3, 1),
  new PrefetchBucket(bucket, 200_000),
  new LeakyBucket(20, exactRate('1/7s', 21)),
  new FixedWindow(12_000, 60_000_000),
  new CalendarWindows(1_000_000_000_000, new Calendar('month', 'America/New_York')),
  new SlidingWindowLog(4_000, 1_750, 1_000),
  new SlidingWindowCounter(10, 86_400_000_000),
];

function settlementOf(
  algorithm: Algorithm,
  key: string,
  more: Partial<ChargeSettlement['receipt']> = {},
): ChargeSettlement {
  const receipt = { key, algorithm, at: 5, resetAt: 80, cost: 3, refundMarker: undefined, ...more };
  return { receipt, finalCost: 1, overdraft: 0 };
}

describe('the text of a reservation', () => {
  it.each(ALGORITHMS.map((algorithm) => [algorithm.wire.program, algorithm.rate, algorithm] as const))(
    'makes a %s with rate %s again',
    (_, __, algorithm) => {
      const settlement = settlementOf(algorithm, 'rl:{user:ada}:app:x', { refundMarker: [17, 4] });
      expect(isLoggable(settlement.receipt)).toBe(true);
      expect(readReservation(reservationText('id', [settlement]), 'rl:{')).toEqual([settlement]);
    },
  );

  it('of an algorithm that is not made from a rate is not for a log', () => {
    expect(isLoggable({ algorithm: new Concurrency(5, 60_000_000) })).toBe(false);
  });

  it('with any part changed is dropped, or refunds within its key prefix and never charges', () => {
    const odd = fc.oneof(
      fc.constantFrom<unknown>(undefined, null, -1, 0, 0.5, 1e300, NaN, '', 'rl:{', 'rl:{x', [], {}, true, 2 ** 53),
      fc.string(),
      fc.integer(),
      fc.constantFrom('20@0/1', '20@1/0', '20@7/99999999999999', '20@7/11@0', '0', 'month@Nowhere', 'day'),
    );
    const text = reservationText('id', [
      settlementOf(ALGORITHMS[0]!, 'rl:{a}', { refundMarker: [17, 4] }),
      settlementOf(ALGORITHMS[5]!, 'rl:{b}'),
    ]);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1), fc.nat(10), odd), { minLength: 1, maxLength: 3 }), (changes) => {
        const read = JSON.parse(text) as [number, string, unknown[][]];
        for (const [i, j, value] of changes) read[2][i]![j] = value;
        for (const { receipt, finalCost, overdraft } of readReservation(JSON.stringify(read), 'rl:{') ?? []) {
          expect(receipt.key.startsWith('rl:{')).toBe(true);
          expect(finalCost).toBeLessThan(receipt.cost);
          expect(overdraft).toBe(0);
          for (const number of receipt.algorithm.wire.numbers) {
            expect(Number.isSafeInteger(number) && number >= 1).toBe(true);
          }
          for (const number of [
            receipt.at,
            receipt.resetAt,
            receipt.cost,
            finalCost,
            ...(receipt.refundMarker ?? []),
          ]) {
            expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
          }
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    'no JSON',
    '{}',
    '[2,"id",[["rl:{a}","fixed-window",5,"1000",0,1,2,1]]]',
    '[1,"id",[["other:{a}","fixed-window",5,"1000",0,1,2,1]]]',
    '[1,"id",[["rl:{a}","fixed-window",5,"1000",0,1,2,2]]]',
    '[1,"id",[["rl:{a}","concurrency",5,"1000",0,1,2,1]]]',
    `[1,"id",[${'["rl:{a}","fixed-window",5,"1000",0,1,2,1],'.repeat(2).slice(0, -1)}]]`,
    `[1,"id",[["rl:{${'a'.repeat(200)}","fixed-window",5,"1000",0,1,2,1]]]`,
  ])('that no process has written is dropped: %s', (text) => {
    expect(readReservation(text, 'rl:{')).toBeUndefined();
  });
});

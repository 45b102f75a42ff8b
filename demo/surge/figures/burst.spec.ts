import { expect, it } from '@jest/globals';
import type { Observation } from '../../riders/index.js';
import { burstOf } from './burst.js';

/** The last of the admitted requests, and those beyond the capacity of 20, are answered after `tookMs`, and ten 429s later. */
function burst(admitted: number, tookMs: number): Observation[] {
  const one = { route: 'rides', rider: 0, attempt: 1, pod: 0, dueAt: 500, sentAt: 500 } as const;
  return [
    ...Array.from({ length: admitted }, (_, i) => ({
      ...one,
      status: 200,
      answeredAt: 500 + (i === admitted - 1 || i >= 20 ? tookMs : 1),
    })),
    ...Array.from({ length: 10 }, () => ({ ...one, status: 429, answeredAt: 500 + 10 * tookMs })),
  ];
}

it.each([
  [20, 5, { refilled: 0, over: 0 }],
  [21, 130, { refilled: 1, over: 0 }],
  [22, 200, { refilled: 2, over: 0 }],
  [21, 99, { refilled: 0, over: 1 }],
  [60, 130, { refilled: 1, over: 39 }],
  [3, 10, { refilled: 0, over: 0 }],
])('explains %d admitted in %d ms by capacity and refill, or calls it a breach', (admitted, tookMs, expected) => {
  expect(burstOf(burst(admitted, tookMs))).toEqual({ sent: admitted + 10, admitted, tookMs, ...expected });
});

import { expect, it } from '@jest/globals';
import type { Observation } from '../../riders/index.js';
import { peopleOf } from './people.js';

const UNTIL_MS = 10_000;

type Asked = Parameters<typeof peopleOf>[0][number];

/** Attempts at one ride: when each was sent and answered, and whether the last one got a driver. */
function ride(rider: number, attempts: readonly (readonly [number, number])[], driverId?: string): Asked[] {
  return attempts.map(([sentAt, answeredAt], i) => ({
    route: 'rides' as const,
    rider,
    attempt: i + 1,
    status: driverId !== undefined && i === attempts.length - 1 ? 200 : 503,
    sentAt,
    answeredAt,
    ...(driverId !== undefined && i === attempts.length - 1 && { driverId }),
  }));
}

const THREE = [
  [0, 3000],
  [4000, 4010],
  [5000, 8000],
] as const;

it.each<[string, readonly Asked[], Partial<ReturnType<typeof peopleOf>>]>([
  ['nobody', [], { wanted: 0, matched: 0, matchedAfterMs: NaN, gaveUp: 0, gaveUpAfterMs: NaN, trying: 0 }],
  ['a driver at once', ride(1, [[100, 150]], 'd'), { wanted: 1, matched: 1, matchedAfterMs: 50, gaveUp: 0, trying: 0 }],
  ['a driver at the third attempt', ride(1, THREE, 'd'), { matched: 1, matchedAfterMs: 8000 }],
  ['three attempts in vain', ride(1, THREE), { wanted: 1, matched: 0, gaveUp: 1, gaveUpAfterMs: 8000, trying: 0 }],
  ['a third answer after the end', ride(1, [...THREE.slice(0, 2), [9000, 10_001]]), { gaveUp: 0, trying: 1 }],
  [
    'two people in one order of answers',
    [...ride(2, [[500, 600]], 'e'), ...ride(1, THREE)],
    { wanted: 2, matched: 1, matchedAfterMs: 100, gaveUp: 1, gaveUpAfterMs: 8000, trying: 0 },
  ],
  [
    'one person who gave up, came back and got a driver',
    [...ride(1, [[9000, 9100]], 'd'), ...ride(1, THREE)],
    { wanted: 1, matched: 1, matchedAfterMs: 100, gaveUp: 0, trying: 0 },
  ],
])('%s', (_, asked, expected) => {
  expect(peopleOf(asked, UNTIL_MS)).toMatchObject(expected);
});

it('counts rides alone', () => {
  const fares: Pick<Observation, 'route' | 'rider' | 'attempt' | 'status' | 'sentAt' | 'answeredAt'> = {
    route: 'fares',
    rider: 1,
    attempt: 3,
    status: 503,
    sentAt: 0,
    answeredAt: 10,
  };
  expect(peopleOf([fares], UNTIL_MS).wanted).toBe(0);
});

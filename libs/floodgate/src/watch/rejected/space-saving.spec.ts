import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { merged, SpaceSaving, type Summary } from './space-saving.js';

/** A stream in which few identities are frequent, and many come once. */
const streams = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }) },
    { weight: 2, arbitrary: fc.integer({ min: 4, max: 200 }) },
  ),
  { maxLength: 400 },
);

function exact(stream: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of stream) counts.set(`user:${value}`, (counts.get(`user:${value}`) ?? 0) + 1);
  return counts;
}

function summaryOf(stream: readonly number[], size: number): Summary {
  const counters = new SpaceSaving(size);
  for (const value of stream) counters.count(`user:${value}`, 'rides');
  return counters.summary();
}

/** Checks that the exact counts lie within the bounds of a summary, for identities that it lists and for the others. */
function expectTrue({ identities, othersAtMost }: Summary, counts: ReadonlyMap<string, number>): void {
  const listed = new Set(identities.map(({ identity }) => identity));
  expect(listed.size).toBe(identities.length);
  for (const { identity, atLeast, atMost } of identities) {
    const count = counts.get(identity) ?? 0;
    expect(count).toBeGreaterThanOrEqual(atLeast);
    expect(count).toBeLessThanOrEqual(atMost);
  }
  const others = [...counts].filter(([identity]) => !listed.has(identity)).map(([, count]) => count);
  expect(Math.max(0, ...others)).toBeLessThanOrEqual(othersAtMost);
}

describe('SpaceSaving', () => {
  it('never says what an exact counter contradicts, and errs by at most n / k', () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 20 }), (stream, size) => {
        const counts = exact(stream);
        const summary = summaryOf(stream, size);
        expectTrue(summary, counts);
        const bound = stream.length / size;
        expect(summary.identities.length).toBe(Math.min(size, counts.size));
        for (const { atLeast, atMost } of summary.identities) expect(atMost - atLeast).toBeLessThanOrEqual(bound);
        expect(summary.othersAtMost).toBeLessThanOrEqual(bound);
        const listed = new Set(summary.identities.map(({ identity }) => identity));
        const frequent = [...counts].filter(([, count]) => count > bound).map(([identity]) => identity);
        expect(frequent.filter((identity) => !listed.has(identity))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('merged', () => {
  it('never says what an exact counter of all streams contradicts, however much is cut off', () => {
    fc.assert(
      fc.property(
        fc.array(streams, { maxLength: 4 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 12 }),
        (all, size, reported, most) => {
          const reports = all.map((stream) => merged([summaryOf(stream, size)], reported));
          const sum = merged(reports, most);
          expectTrue(sum, exact(all.flat()));
          expect(sum.identities.length).toBeLessThanOrEqual(most);
          const order = sum.identities.map(({ atLeast }) => atLeast);
          expect(order).toEqual(order.toSorted((one, other) => other - one));
        },
      ),
      { numRuns: 300 },
    );
  });
});

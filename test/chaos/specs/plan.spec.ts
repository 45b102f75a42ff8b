import { expect, it } from '@jest/globals';
import { readOptions, UsageError } from '../options.js';
import { KINDS, needOf, planOf, PODS } from '../plan.js';

const TEN_MINUTES = 600_000;
const SEEDS = [0, 1000];

it('plans the same faults for the same seed, and other faults for another seed', () => {
  expect(planOf(7, TEN_MINUTES)).toEqual(planOf(7, TEN_MINUTES));
  expect(planOf(7, TEN_MINUTES)).not.toEqual(planOf(8, TEN_MINUTES));
});

it.each(SEEDS)(
  'plans faults of every kind in ten minutes, each within a storm, with a calm after each storm (seed %d)',
  (seed) => {
    const storms = planOf(seed, TEN_MINUTES);
    const faults = storms.flatMap((storm) => storm.faults);
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)));
    let calmUntil = 0;
    for (const storm of storms) {
      for (const { at, forMs, pod = 0 } of storm.faults) {
        expect(at).toBeGreaterThanOrEqual(calmUntil);
        expect(at + forMs).toBeLessThanOrEqual(storm.calmUntil - 3000);
        expect(pod).toBeLessThan(PODS);
      }
      ({ calmUntil } = storm);
    }
    expect(calmUntil).toBeLessThanOrEqual(TEN_MINUTES);
    expect(calmUntil).toBeGreaterThan(TEN_MINUTES - 20_000);
  },
);

it.each(SEEDS)('plans no two faults of the same part of the system at a time (seed %d)', (seed) => {
  for (const { faults } of planOf(seed, TEN_MINUTES)) {
    for (const [i, one] of faults.entries()) {
      for (const other of faults.slice(i + 1)) {
        if (other.at > one.at + one.forMs) continue;
        expect(needOf(one).filter((need) => needOf(other).includes(need))).toEqual([]);
      }
    }
  }
});

it('reads options, and names the wrong option in its error', () => {
  expect(readOptions(['--minutes', '10', '--seed', '3'])).toMatchObject({ minutes: 10, seed: 3 });
  expect(readOptions(['--help'])).toBeUndefined();
  expect(readOptions([])).toMatchObject({ minutes: 1, plan: false });
  expect(() => readOptions(['--minutes', 'ten'])).toThrow(
    new UsageError("--minutes must be a number from 0.7 to 120, got 'ten'"),
  );
  expect(() => readOptions(['--seed', '-1'])).toThrow(UsageError);
  expect(() => readOptions(['--seed', '1.5'])).toThrow(
    new UsageError("--seed must be a whole number from 0 to 2147483647, got '1.5'"),
  );
  expect(() => readOptions(['--seeds', '1'])).toThrow("Unknown option '--seeds'");
});

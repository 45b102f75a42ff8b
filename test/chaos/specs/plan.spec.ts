import { expect, it } from '@jest/globals';
import { KINDS, planOf } from '../plan.js';

it('plans the same faults for the same seed, of every kind in ten minutes, with a calm after each storm', () => {
  const storms = planOf(7, 600_000);
  expect(planOf(7, 600_000)).toEqual(storms);
  const faults = storms.flatMap((storm) => storm.faults);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)));
  for (const storm of storms)
    for (const { at, forMs } of storm.faults) expect(at + forMs).toBeLessThanOrEqual(storm.calmUntil - 3000);
});

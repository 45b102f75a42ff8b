import { expect, it } from '@jest/globals';
import { busynessOf } from './busyness.js';

const START = { atMs: 1000, machineMs: 50_000, ownMs: 7000 };
const after = (machineMs: number, ownMs: number): typeof START => ({
  atMs: 3000,
  machineMs: 50_000 + machineMs,
  ownMs: 7000 + ownMs,
});

it.each([
  ['nothing else runs', after(2000, 2000), 4, 10, null],
  ['the run uses all of the machine', after(4000, 3900), 4, 10, null],
  ['others leave nothing, and the run is on time', after(3960, 1000), 30, 30, null],
  [
    'others leave nothing, and requests are late',
    after(3960, 1000),
    60.04,
    10,
    { othersCpu: 1.48, idleCpu: 0.02, lateP99Ms: 60 },
  ],
  ['others leave enough, and requests are a little late', after(3000, 1000), 60, 10, null],
  ['requests are late', after(2000, 1000), 400, 10, { othersCpu: 0.5, idleCpu: 1, lateP99Ms: 400 }],
  ['the worlds are late', after(2000, 1000), 4, 400, { othersCpu: 0.5, idleCpu: 1, lateP99Ms: 4 }],
  // The clocks of the figures differ by up to a hundredth of a second.
  ['the figures are not of one instant', after(4020, 4060), 400, 10, { othersCpu: 0, idleCpu: 0, lateP99Ms: 400 }],
] as const)('%s', (_, to, lateMs, worldsLateMs, busyness) => {
  expect(busynessOf(START, to, 2, lateMs, worldsLateMs)).toEqual(busyness);
});

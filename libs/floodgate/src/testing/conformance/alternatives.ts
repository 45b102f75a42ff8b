import type { Algorithm } from '../../algorithms/core/algorithm.js';
import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import type { Verdict } from '../../stores/store.js';
import { eachOf, type Law, type Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';
import type { Asked, Timeline } from './timeline.js';

const one = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });
const two = algorithmOf({ algorithm: 'fixed-window', limit: 2, window: '1h' });
const ROW: readonly Asked[] = [
  [one, 1, 'first'],
  [two, 1, 'second'],
  [one, 1, 'third'],
];

/** A law of stores that decide alternatives. Any other store is not asked. */
function choosing(law: (timeline: Timeline) => Promise<void>): Law {
  return async (open) => {
    const timeline = await open();
    if (timeline.decidesAlternatives(ROW)) await law(timeline);
  };
}

/** What is left of each key of the row. */
async function leftOf(timeline: Timeline): Promise<number[]> {
  const left: number[] = [];
  for (const [algorithm, , key] of ROW) left.push((await timeline.charge(0, algorithm, 0, key)).remaining);
  return left;
}

/** The place of the charge that was made. */
function made({ charges }: Verdict): number {
  return charges.slice(0, ROW.length).findIndex(({ allowed }) => allowed);
}

/** What holds for a request of which one charge of several has to fit, as with a policy's `else`. */
export const ALTERNATIVES: Laws = {
  'makes the first charge that fits, and no other one': choosing(async (timeline) => {
    for (const [place, left] of [
      [0, [0, 2, 1]],
      [1, [0, 1, 1]],
      [1, [0, 0, 1]],
      [2, [0, 0, 0]],
    ] as const) {
      const verdict = await timeline.askOneOf(0, ROW);
      expectSame('the charge that was made', [verdict.allowed, made(verdict)], [true, place]);
      expectSame('what is left', await leftOf(timeline), left);
    }
    const other: Asked = [two, 1, 'other'];
    const rejected = await timeline.askOneOf(0, ROW, other);
    expectSame('a request that fits none', [rejected.allowed, made(rejected)], [false, -1]);
    expectFields('the charge beside it', await timeline.charge(0, two, 0, 'other'), { remaining: 2 });
  }),

  'is all or nothing with the charges beside it': choosing(async (timeline) => {
    const beside: Asked = [one, 1, 'beside'];
    await timeline.charge(0, one, 1, 'first');
    expectFields('all fit', await timeline.askOneOf(0, ROW, beside), { allowed: true });
    expectSame('the second one was charged', await leftOf(timeline), [0, 1, 1]);
    const verdict = await timeline.askOneOf(0, ROW, beside);
    expectFields('the charge beside it does not fit', verdict, { allowed: false });
    expectSame('nothing was charged', await leftOf(timeline), [0, 1, 1]);
  }),

  'makes as many charges as fit for requests of one instant': choosing(async (timeline) => {
    const verdicts = await Promise.all(Array.from({ length: 7 }, () => timeline.askOneOf(0, ROW)));
    expectSame('the charges that were made', verdicts.map(made), [0, 1, 1, 2, -1, -1, -1]);
  }),

  'charges nothing for a peek': choosing(async (timeline) => {
    await timeline.charge(0, one, 1, 'first');
    const peek = ROW.map(([algorithm, , key]): Asked => [algorithm, 0, key]);
    for (let i = 0; i < 3; i++) {
      expectSame('the charge that would be made', [made(await timeline.askOneOf(0, peek))], [1]);
    }
    expectSame('what is left', await leftOf(timeline), [0, 2, 1]);
  }),

  // What delays takes nothing over.
  ...eachOf(
    ALGORITHM_NAMES.filter((name) => !algorithmOf(SMALL_POLICIES[name]).delays),
    (name) => `${name}: takes what does not fit the first charge, as if it stood alone`,
    (name) =>
      choosing(async (timeline) => {
        const algorithm: Algorithm = algorithmOf(SMALL_POLICIES[name]);
        await timeline.charge(0, one, 1, 'first');
        for (let i = 0; i <= algorithm.limit; i++) {
          const alone = await timeline.charge(i, algorithm, 1, 'alone');
          const { charges } = await timeline.askOneOf(i, [ROW[0]!, [algorithm, 1, 'taking']]);
          expectSame(`request ${i + 1}`, charges[1], alone);
        }
      }),
  ),
};

import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import type { Verdict } from '../../stores/store.js';
import { pass, reject, SECOND } from './instants.js';
import { eachOf, type Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';
import type { Asked } from './timeline.js';

const perSecond = algorithmOf({ algorithm: 'fixed-window', limit: 3, window: '1s' });
const perMinute = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1m' });

/** All or nothing: what holds for a request that several policies count. */
export const SEVERAL_POLICIES: Laws = {
  'charges all policies or none, and returns the verdict of each': async (open) => {
    const timeline = await open();
    const both = async (at: number): Promise<Verdict> =>
      timeline.ask(at, [perSecond, 1, 'second'], [perMinute, 1, 'minute']);
    for (const [i, left] of [2, 1, 0].entries()) {
      const expected = { allowed: true, charges: [pass(left, SECOND), pass(4 - i, 60 * SECOND)] };
      expectFields(`request ${i + 1}`, await both(0), expected);
    }
    const rejectedBySecond = { allowed: false, charges: [reject(0, SECOND, SECOND), pass(2, 60 * SECOND)] };
    for (let i = 0; i < 5; i++) expectFields('rejected by the first policy', await both(0), rejectedBySecond);
    expectFields('the next second', await both(SECOND), {
      allowed: true,
      charges: [pass(2, SECOND), pass(1, 59 * SECOND)],
    });
    expectFields('its second request', await both(SECOND), {
      allowed: true,
      charges: [pass(1, SECOND), pass(0, 59 * SECOND)],
    });
    const rejectedByMinute = { allowed: false, charges: [pass(1, SECOND), reject(0, 59 * SECOND, 59 * SECOND)] };
    for (let i = 0; i < 5; i++) expectFields('rejected by the second policy', await both(SECOND), rejectedByMinute);
  },

  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: keeps its state if another policy rejects the request`,
    (name) => async (open) => {
      const algorithm = algorithmOf(SMALL_POLICIES[name]);
      const timeline = await open();
      await timeline.ask(0, [algorithm, 2, 'kept']);
      await timeline.ask(0, [perSecond, 3, 'full']);
      const before = await timeline.charge(10, algorithm, 0, 'kept');
      const charges: readonly Asked[] = [
        [algorithm, 1, 'kept'],
        [perSecond, 1, 'full'],
      ];
      for (const order of [charges, charges.toReversed()]) {
        expectFields('a request that one policy rejects', await timeline.ask(10, ...order), { allowed: false });
      }
      expectSame('the other policy', await timeline.charge(10, algorithm, 0, 'kept'), before);
    },
  ),

  'can peek at one policy and charge another': async (open) => {
    const timeline = await open();
    for (const left of [4, 3, 2]) {
      const verdict = await timeline.ask(0, [perSecond, 0, 'second'], [perMinute, 1, 'minute']);
      expectFields('a peek and a charge', verdict, {
        allowed: true,
        charges: [pass(3, SECOND), pass(left, 60 * SECOND)],
      });
    }
    await timeline.ask(0, [perSecond, 3, 'second']);
    const verdict = await timeline.ask(0, [perSecond, 0, 'second'], [perMinute, 1, 'minute']);
    expectFields('a peek that would be rejected', verdict, {
      allowed: false,
      charges: [reject(0, SECOND, SECOND), pass(2, 60 * SECOND)],
    });
  },

  'charges each policy its own cost': async (open) => {
    const timeline = await open();
    const verdict = await timeline.ask(0, [perSecond, 3, 'second'], [perMinute, 5, 'minute']);
    expectFields('both whole limits', verdict, { allowed: true, charges: [pass(0, SECOND), pass(0, 60 * SECOND)] });
  },

  'returns the verdict of each policy if both reject': async (open) => {
    const timeline = await open();
    await timeline.ask(0, [perSecond, 3, 'second']);
    await timeline.ask(0, [perMinute, 5, 'minute']);
    const verdict = await timeline.ask(1, [perSecond, 4, 'second'], [perMinute, 1, 'minute']);
    const charges = [reject(0, SECOND - 1, Infinity), reject(0, 60 * SECOND - 1, 60 * SECOND - 1)];
    expectFields('two rejections', verdict, { allowed: false, charges });
  },
};

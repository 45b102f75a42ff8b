import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import { MINUTE } from './instants.js';
import { eachOf, type Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';

/** What holds for refunds. A store without `refund` keeps its charges, and is not asked. */
export const REFUNDS: Laws = {
  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: a refund, where the store makes any, gives the last charge back`,
    (name) => async (open) => {
      const algorithm = algorithmOf(SMALL_POLICIES[name]);
      const timeline = await open();
      if (!timeline.refunds) return;
      await timeline.charge(0, algorithm, 1);
      const before = await timeline.charge(0, algorithm, 0);
      const receipts = await timeline.take(0, [algorithm, 2]);
      await timeline.refund(0, receipts);
      expectSame('the state before the charge', await timeline.charge(0, algorithm, 0), before);
    },
  ),

  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: a late refund, or one of a key that was reset, gives nothing beyond the limit`,
    (name) => async (open) => {
      const algorithm = algorithmOf(SMALL_POLICIES[name]);
      const timeline = await open();
      if (!timeline.refunds) return;
      const late = await timeline.take(0, [algorithm, algorithm.maxCost]);
      const receipts = await timeline.take(MINUTE, [algorithm, 1]);
      await timeline.reset('key');
      await timeline.charge(MINUTE, algorithm, 0);
      await timeline.refund(MINUTE, [...late, ...receipts]);
      expectFields('the whole cost', await timeline.charge(MINUTE, algorithm, algorithm.maxCost), { allowed: true });
      await timeline.refund(MINUTE, late);
      expectFields('one more', await timeline.charge(MINUTE, algorithm, 1), { allowed: false });
    },
  ),
};

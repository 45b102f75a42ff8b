import { ALGORITHM_NAMES } from '../../libs/floodgate/src/algorithms/algorithms.js';
import { eachOf } from '../../libs/floodgate/src/testing/conformance/laws.js';
import { expectFields } from '../../libs/floodgate/src/testing/conformance/same.js';
import { algorithmOf, SMALL_POLICIES } from '../../libs/floodgate/src/testing/conformance/small-policies.js';
import { SETTLEMENTS } from '../../libs/floodgate/src/testing/conformance/settlements.js';
import { describeForEveryStore } from './conformance.js';

describeForEveryStore('settlements', SETTLEMENTS);

describeForEveryStore('a rejected reservation', {
  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: says what it lacked`,
    (name) => async (open) => {
      const algorithm = algorithmOf(SMALL_POLICIES[name]);
      const timeline = await open();
      await timeline.reserve(0, [algorithm, algorithm.maxCost]);
      expectFields('the shortfall', await timeline.rejected(0, algorithm, 1), { shortfall: {} });
    },
  ),
});

import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import { eachOf, type Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';

const CONCURRENT = 25;
const shared = algorithmOf({ algorithm: 'fixed-window', limit: 10, window: '1h' });

/** Exact: what holds when the store is asked again before it has answered. */
export const CONCURRENT_REQUESTS: Laws = {
  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: admits exactly its limit of concurrent requests`,
    (name) => async (open) => {
      const algorithm = algorithmOf(SMALL_POLICIES[name]);
      const timeline = await open();
      const asked = Array.from({ length: CONCURRENT }, () => timeline.charge(0, algorithm, 1));
      const allowed = (await Promise.all(asked)).filter((verdict) => verdict.allowed).length;
      expectSame(`of ${CONCURRENT} concurrent requests`, { allowed }, { allowed: algorithm.maxCost });
    },
  ),

  'charges concurrent requests of two policies all or nothing': async (open) => {
    const timeline = await open();
    // Each client has a limit of its own and all share one, which is full first.
    const asked = Array.from({ length: CONCURRENT }, (_, i) =>
      timeline.ask(0, [shared, 1, `client-${i % 5}`], [shared, 1, 'all']),
    );
    const verdicts = await Promise.all(asked);
    expectSame(
      `of ${CONCURRENT} concurrent requests`,
      { allowed: verdicts.filter((verdict) => verdict.allowed).length },
      { allowed: shared.limit },
    );
    let charged = 0;
    for (let i = 0; i < 5; i++) {
      charged += shared.limit - (await timeline.charge(0, shared, 0, `client-${i}`)).remaining;
    }
    expectSame('charged to the clients together', { charged }, { charged: shared.limit });
    expectFields('the limit of all', await timeline.charge(0, shared, 0, 'all'), { remaining: 0 });
  },
};

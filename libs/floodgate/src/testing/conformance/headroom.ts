import type { Algorithm, AlgorithmName } from '../../algorithms/core/algorithm.js';
import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import { MILLISECOND, SECOND } from './instants.js';
import { eachOf, type Laws, type OpenTimeline } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';
import type { Timeline } from './timeline.js';

const KEY = 'key';
const ONE_OF_TWO = algorithmOf({ algorithm: 'concurrency', limit: 2, lease: '30s' });
const LEASE = 30 * SECOND;

/** A law for each algorithm, with a small policy of it. A store that does not know headroom passes. */
function forEach(title: string, law: (timeline: Timeline, algorithm: Algorithm) => Promise<void>): Laws {
  const of = (name: AlgorithmName) => async (open: OpenTimeline) => {
    const timeline = await open();
    if (timeline.leavesHeadroom) await law(timeline, algorithmOf(SMALL_POLICIES[name]));
  };
  return eachOf(ALGORITHM_NAMES, (name) => `${name}: ${title}`, of);
}

/** What holds for charges that have to leave headroom free behind them. */
export const HEADROOM: Laws = {
  ...forEach('leaves exactly the headroom free, which others may take', async (timeline, algorithm) => {
    for (let headroom = 1; headroom < algorithm.limit; headroom++) {
      const key = `${headroom}`;
      for (let i = headroom; i < algorithm.maxCost; i++) {
        const low = await timeline.ask(0, [algorithm, 1, key, headroom]);
        expectFields(`charge ${i} with headroom ${headroom}`, low, { allowed: true });
      }
      const next = (await timeline.ask(0, [algorithm, 1, key, headroom])).charges[0];
      expectFields(`the next with headroom ${headroom}`, next, { allowed: false, remaining: 0 });
      for (let left = headroom; left > 0; left--) {
        const high = await timeline.charge(0, algorithm, 1, key);
        expectFields(`${left} units are left without it`, high, { allowed: true, remaining: left - 1 });
      }
      expectFields('then nothing', await timeline.charge(0, algorithm, 1, key), { allowed: false });
    }
  }),

  ...forEach('tells what is left without the headroom, and a peek changes nothing', async (timeline, algorithm) => {
    const peek = async (headroom: number): Promise<unknown> =>
      (await timeline.ask(0, [algorithm, 0, KEY, headroom])).charges[0];
    await timeline.charge(0, algorithm, 2);
    const { remaining } = await timeline.charge(0, algorithm, 0);
    for (const headroom of [1, 2, 3]) {
      const left = Math.max(0, remaining - headroom);
      expectFields(`a peek with headroom ${headroom}`, await peek(headroom), { allowed: left > 0, remaining: left });
    }
    expectFields('a peek without it', await timeline.charge(0, algorithm, 0), { remaining });
  }),

  ...forEach('rejects a microsecond before retryAfter, and allows at it', async (timeline, algorithm) => {
    for (let headroom = 1; headroom < algorithm.limit; headroom++) {
      for (let cost = 1; cost <= algorithm.maxCost - headroom; cost++) {
        const key = `${headroom} ${cost}`;
        const ask = async (at: number): Promise<{ readonly retryAfter: number }> =>
          (await timeline.ask(at, [algorithm, cost, key, headroom])).charges[0]!;
        for (let i = 0; i < algorithm.maxCost; i++) await timeline.charge(i * 70 * MILLISECOND, algorithm, 1, key);
        const at = 300 * MILLISECOND;
        const rejected = await ask(at);
        expectFields(`cost ${cost} with headroom ${headroom} of a full limit`, rejected, { allowed: false });
        const { retryAfter } = rejected;
        const early = await ask(at + retryAfter - 1);
        expectFields('a microsecond before retryAfter', early, { allowed: false, retryAfter: 1 });
        expectFields('at retryAfter', await ask(at + retryAfter), { allowed: true, retryAfter: 0 });
      }
    }
  }),

  ...forEach('never fits beside a headroom that takes the whole limit', async (timeline, algorithm) => {
    const cost = algorithm.maxCost;
    const verdict = (await timeline.ask(0, [algorithm, cost, KEY, 1])).charges[0];
    expectFields(`cost ${cost} with headroom 1`, verdict, { allowed: false, retryAfter: Infinity });
    expectFields('without headroom', await timeline.charge(0, algorithm, cost), { allowed: true });
  }),

  ...forEach('is all or nothing beside another charge', async (timeline, algorithm) => {
    await timeline.charge(0, algorithm, 2, 'one');
    const before = await timeline.charge(0, algorithm, 0, 'other');
    const verdict = await timeline.ask(0, [algorithm, 1, 'other'], [algorithm, 1, 'one', 3]);
    expectFields('one charge lacks its headroom', verdict, {
      allowed: false,
      charges: [{ allowed: true }, { allowed: false }],
    });
    expectSame('the other one was not charged', await timeline.charge(0, algorithm, 0, 'other'), before);
  }),

  'a held lease is renewed without its headroom, and a lost one is taken again only with it': async (open) => {
    const timeline = await open();
    if (!timeline.leavesHeadroom) return;
    const [lease] = await timeline.take(0, [ONE_OF_TWO, 1, KEY, 1]);
    await timeline.take(SECOND, [ONE_OF_TWO, 1]);
    const at = 20 * SECOND;
    const renewal = ONE_OF_TWO.lease!.renewal(lease!.resetAt);
    const [renewed] = await timeline.take(at, [renewal, 1, KEY, 1]);
    const later = at + LEASE;
    await timeline.take(later, [ONE_OF_TWO, 1]);
    const again = ONE_OF_TWO.lease!.renewal(renewed!.resetAt);
    const lost = await timeline.ask(later, [again, 1, KEY, 1]);
    expectFields('a lost lease, while another class holds one', lost, { allowed: false });
    const free = await timeline.ask(later + LEASE, [again, 1, KEY, 1]);
    expectFields('when all places are free', free, { allowed: true });
  },
};

import { describe, it } from '@jest/globals';
import { assert, asyncProperty, property } from 'fast-check';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Verdict } from '../../libs/floodgate/src/stores/store.js';
import { headroomIn } from '../../libs/floodgate/src/policy/priorities.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { costFor } from '../support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { textbookOf } from '../support/textbook-of.js';
import { type KeyHistory, keyHistoriesOf, replay } from './key-histories.js';

const redis = useRedis();

describe.each(ALL_ALGORITHMS)('the %s', (name) => {
  it('decides as its textbook does, field by field, in memory', () => {
    const law = property(keyHistoriesOf(name), (history: KeyHistory) => {
      const textbook = textbookOf(algorithmOf(history.policy));
      replay(history, ({ at, cost, headroom, ...verdict }) =>
        expectSame(verdict, textbook.verdict(at, cost, headroom)),
      );
    });
    assert(law, histories());
  });

  it(
    'decides as its textbook does, field by field, in Redis',
    async () => {
      const law = asyncProperty(keyHistoriesOf(name), async (history: KeyHistory) => {
        await redis.client.flushdb();
        const algorithm = algorithmOf(history.policy);
        const textbook = textbookOf(algorithm);
        const clock = new MovingClock(history.start, 0);
        const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
        let verdicts: Verdict[] = [];
        for (const { move, cost: asked, part } of history.requests) {
          clock.move(move, algorithm, verdicts);
          const cost = costFor(algorithm, asked);
          const headroom = headroomIn(algorithm, part);
          verdicts = [await store.consume([{ key: 'key', algorithm, cost, headroom }])];
          expectSame(verdicts[0]!.charges[0], textbook.verdict(clock.now, cost, headroom));
        }
      });
      await assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it('gives an exact retryAfter: its textbook rejects just before it, and allows at it', () => {
    const law = property(keyHistoriesOf(name), (history: KeyHistory) => {
      const textbook = textbookOf(algorithmOf(history.policy));
      replay(history, (answer, { maxCost }) => {
        const { at, cost, headroom, allowed, retryAfter } = answer;
        const asked = (cost || 1) + headroom;
        textbook.ask(at, cost, headroom);
        expectHolds((retryAfter === Infinity) === asked > maxCost, () => answer);
        if (allowed || retryAfter === Infinity) return;
        expectHolds(!textbook.fits(at + retryAfter - 1, asked), () => answer);
        expectHolds(textbook.fits(at + retryAfter, asked), () => answer);
      });
    });
    assert(law, histories());
  });

  it('has its whole limit at resetAfter, and not before', () => {
    const law = property(keyHistoriesOf(name), (history: KeyHistory) => {
      const textbook = textbookOf(algorithmOf(history.policy));
      replay(history, (answer) => {
        const { at, cost, headroom, resetAfter } = answer;
        textbook.ask(at, cost, headroom);
        expectHolds(textbook.isWhole(at + resetAfter), () => answer);
        // An unused fixed window has a resetAfter, too: its end.
        if (resetAfter === 0 || (name === 'fixed-window' && textbook.isWhole(at))) return;
        expectHolds(!textbook.isWhole(at + resetAfter - 1), () => answer);
      });
    });
    assert(law, histories());
  });
});

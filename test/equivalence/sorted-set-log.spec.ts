import { describe, it } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { costFor } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { type KeyHistory, keyHistoriesOf } from './key-histories.js';
import { SortedSetLog } from './sorted-set-log.js';

const redis = useRedis();

describe('the sliding window log in Redis', () => {
  it(
    'decides as a sorted set does, field by field: as a string, as a list, and where the string becomes a list',
    async () => {
      const law = asyncProperty(keyHistoriesOf('sliding-window-log'), async (history: KeyHistory) => {
        await redis.client.flushdb();
        const algorithm = algorithmOf(history.policy);
        const clock = new MovingClock(history.start, 0);
        const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
        const oracle = new SortedSetLog(redis.client, algorithm);
        let verdicts: Verdict[] = [];
        for (const { move, cost: asked } of history.requests) {
          clock.move(move, algorithm, verdicts);
          const cost = costFor(algorithm, asked);
          const answer = store.consume([{ key: 'log', algorithm, cost }]);
          const wanted = await oracle.consume(clock.now, { key: 'sorted set', algorithm, cost });
          verdicts = [await answer];
          expectSame(verdicts[0]!.charges[0], wanted);
        }
      });
      await assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

import { describe, it } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { FALLBACK, MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';
import { chargesOf, historiesOf, type History, requestsOf } from './histories.js';

const redis = useRedis();

/**
 * Gives one history to three stores: to Redis by turns of the event loop, to Redis by single requests (each has its own store,
 * and so its own run of the Lua program), and to the memory of this process.
 */
async function giveToThree(history: History): Promise<void> {
  const { client } = redis;
  await client.flushdb();
  const clock = new MovingClock(history.start, FALLBACK);
  const options = { clock: clock.read, maxSkewMs: history.maxSkewMs };
  const inTurns = new RedisStore(client, options);
  const inMemory = new MemoryStore(options);
  const pools = { turns: chargesOf(history, 'turns'), single: chargesOf(history, 'single') };
  const first = algorithmOf(history.policies[0]![0]);
  let verdicts: Verdict[] = [];
  for (const turn of history.turns) {
    clock.move(turn.move, first, verdicts);
    const together = requestsOf(turn, pools.turns).map((charges) => inTurns.consume(charges));
    const single = requestsOf(turn, pools.single).map((charges) => new RedisStore(client, options).consume(charges));
    verdicts = requestsOf(turn, pools.single).map((charges) => inMemory.consume(charges));
    expectSame(await Promise.all(single), verdicts);
    expectSame(await Promise.all(together), verdicts);
  }
  const [inOne, oneByOne] = Object.values(pools).map((pool) => pool.flat().map(({ key }) => key));
  expectSame(await contentsOf(client, inOne!), await contentsOf(client, oneByOne!));
}

describe('one truth: memory, Redis by requests and Redis by turns give the same decisions, field by field', () => {
  it.each(ALL_ALGORITHMS)(
    '%s',
    async (name) => {
      await assert(asyncProperty(historiesOf(name), giveToThree), histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

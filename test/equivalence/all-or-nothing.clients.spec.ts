import { describe, it } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';
import { chargesOf, historiesOf, type History, requestsOf } from './histories.js';

const redis = useRedis();

function statesOf(charges: readonly Charge[]): Promise<string[]> {
  const keys = charges.map(({ key }) => key);
  return contentsOf(redis.client, keys);
}

/** Decides a history request by request, on a clock that does not step back, and compares the states around each request. */
async function watch(history: History): Promise<void> {
  await redis.client.flushdb();
  const clock = new MovingClock(history.start, 0);
  const store = new RedisStore(redis.client, { clock: clock.read });
  // One version of each policy: a smaller capacity rebases a deeper debt, even if it rejects the request.
  const pool = chargesOf({ ...history, policies: history.policies.map(([policy]) => [policy]) }, 'key');
  const first = algorithmOf(history.policies[0]![0]);
  let verdicts: Verdict[] = [];
  for (const turn of history.turns.slice(0, 4)) {
    clock.move(turn.move, first, verdicts);
    for (const charges of requestsOf(turn, pool).slice(0, 6)) {
      const before = statesOf(charges);
      const verdict = await store.consume(charges);
      const charged = verdict.allowed && charges.some(({ cost }) => cost > 0);
      expectHolds(verdict.allowed === verdict.charges.every(({ allowed }) => allowed), () => verdict);
      if (!charged) expectSame(await statesOf(charges), await before);
      verdicts = [verdict];
    }
  }
}

describe('all or nothing: a rejected request and a peek leave every state as it was', () => {
  it.each(ALL_ALGORITHMS)(
    '%s and others',
    async (name) => {
      await assert(asyncProperty(historiesOf(name), watch), histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});

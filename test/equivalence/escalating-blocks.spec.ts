import { describe, expect, it } from '@jest/globals';
import { blockOf } from '../../libs/floodgate/src/policy/block-for.js';
import type { BlockCharge, Charge } from '../../libs/floodgate/src/stores/charge.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { type ChargeVerdict, RateLimitStoreError, type Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { useRedis } from '../support/redis-fixture.js';

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const NOW = 19_900 * 86_400 * SECOND;
/** Each request of cost 2 is rejected. */
const ONE = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });

const redis = useRedis();

function blockFor(
  { after, durations }: { readonly after: number; readonly durations: readonly number[] },
  key: string,
): BlockCharge {
  const algorithm = blockOf({}, durations, after, (problem) => {
    throw new Error(problem);
  });
  return { key, algorithm: algorithm!, cost: 1 };
}

/** Requests that are rejected, then one that asks. */
function requestsOf(block: BlockCharge, rejections: number): Charge[][] {
  const charge = { key: `${block.key}:window`, algorithm: ONE, cost: 2, block };
  const peek = { ...charge, cost: 0, block: { ...block, cost: 0 } };
  return [...Array.from({ length: rejections }, () => [charge]), [peek]];
}

const brief = ({ blockedFor, blockStep }: ChargeVerdict): unknown => [blockedFor, blockStep];
const briefs = (verdicts: readonly Verdict[]): unknown => verdicts.map(({ charges }) => brief(charges[0]!));

describe('blocks that escalate', () => {
  it.each([
    ['an empty string', ''],
    ['the state of a single duration', `${NOW}2`],
    ['two instants alone', `${NOW}${NOW}`],
    ['no count', `${NOW}${NOW}01`],
    ['a letter', `${NOW}${NOW}01x`],
    ['more digits than a count has', `${NOW}${NOW}01${'9'.repeat(17)}`],
    ['a step that there is not', `${NOW}${NOW}041`],
    ['a block without a step', `${NOW + 1}${NOW + 2}002`],
    ['a block that outlives the memory of its step', `${NOW + 2}${NOW + 1}012`],
  ])('with a state that is unreadable (%s) fail their own request alone', async (_, state) => {
    const store = new RedisStore(redis.client, { clock: () => NOW });
    const some = { after: 2, durations: [MINUTE, 10 * MINUTE, 60 * MINUTE] };
    await redis.client.set('a', state);
    const [wrong, right] = ['a', 'b'].map((key) => requestsOf(blockFor(some, key), 1)[0]);
    const failed = store.consume(wrong!);
    const verdicts = Promise.all([store.consume(right!), store.consume(right!)]);
    await expect(failed).rejects.toThrow(RateLimitStoreError);
    expect(briefs(await verdicts)).toEqual([
      [undefined, undefined],
      [MINUTE, 1],
    ]);
    expect(await redis.client.get('a')).toBe(state);
  });
});

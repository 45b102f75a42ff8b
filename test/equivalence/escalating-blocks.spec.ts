import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { blockOf } from '../../libs/rate-limit/src/policy/block-for.js';
import type { BlockCharge, Charge } from '../../libs/rate-limit/src/stores/charge.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import { type ChargeVerdict, RateLimitStoreError, type Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { FALLBACK } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';
import { oneByOne } from './give-to-three.js';
import { TextbookBlocks } from './textbook-blocks.js';

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const NOW = 19_900 * 86_400 * SECOND;
/** Each request of cost 2 is rejected. */
const ONE = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });

const redis = useRedis();

/** How the clock moves: to an instant that the textbook knows, plus `off` microseconds, or by a number of them. */
type Move = { readonly to: 'end' | 'forgotten'; readonly off: number } | { readonly by: number };

interface BlockHistory {
  readonly after: number;
  readonly durations: readonly number[];
  readonly maxSkewMs: number;
  readonly turns: readonly { readonly move: Move; readonly rejections: number; readonly key: number }[];
}

const off = fc.constantFrom(0, 0, -1, 1);
const forwards: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ to: fc.constantFrom('end', 'forgotten'), off }) },
  { weight: 2, arbitrary: fc.record({ by: fc.integer({ min: 0, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ by: fc.integer({ min: 0, max: 20 * MINUTE }) }) },
);
const anywhere: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: forwards },
  { weight: 1, arbitrary: fc.record({ by: fc.integer({ min: -FALLBACK, max: 0 }) }) },
);

function historiesOf(moves: fc.Arbitrary<Move>): fc.Arbitrary<BlockHistory> {
  const turn = { move: moves, rejections: fc.integer({ min: 0, max: 4 }), key: fc.constantFrom(0, 0, 0, 1) };
  return fc.record({
    after: fc.constantFrom(1, 2, 3),
    durations: fc.subarray([1_000, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, 60 * MINUTE], { minLength: 1 }),
    maxSkewMs: fc.constantFrom(0, 0, 100, 10_000),
    turns: fc.array(fc.record(turn), { minLength: 1, maxLength: 40 }),
  });
}

function blockFor({ after, durations }: Pick<BlockHistory, 'after' | 'durations'>, key: string): BlockCharge {
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

/** What the textbook says of the turn: of each rejection, then of a peek. */
function textbookTurn(textbook: TextbookBlocks, block: BlockCharge, rejections: number, now: number): unknown {
  const escalates = block.algorithm.durations.length > 1;
  return Array.from({ length: rejections + 1 }, (_, i) => {
    if (i < rejections && textbook.left({ block }, now) === 0) textbook.rejected({ block }, now);
    const left = textbook.left({ block }, now);
    return left === 0 ? [undefined, undefined] : [left, escalates ? textbook.step({ block }, now) : undefined];
  });
}

/** Moves a clock through a history, and never back by more than `fallback`. Each turn gets what the textbook says of it. */
async function play(
  history: BlockHistory,
  fallback: number,
  clock: TestClock,
  turn: (key: number, rejections: number, textbook: unknown) => void | Promise<void>,
): Promise<void> {
  const textbook = new TextbookBlocks();
  const blocks = ['a', 'b'].map((key) => blockFor(history, key));
  let latest = (clock.now = NOW);
  for (const { move, rejections, key } of history.turns) {
    const block = blocks[key]!;
    if ('by' in move) clock.now += move.by;
    else if (move.to === 'end') clock.now += textbook.left({ block }, clock.now) + move.off;
    else clock.now = Math.max(clock.now, textbook.forgottenAt(block) + move.off);
    clock.now = Math.max(clock.now, latest - fallback);
    latest = Math.max(latest, clock.now);
    await turn(key, rejections, textbookTurn(textbook, block, rejections, clock.now));
  }
}

async function compareWithTextbook(history: BlockHistory): Promise<void> {
  const clock = new TestClock();
  const store = new MemoryStore({ clock: clock.read });
  const blocks = ['a', 'b'].map((key) => blockFor(history, key));
  await play(history, 0, clock, (key, rejections, textbook) => {
    expectSame(briefs(requestsOf(blocks[key]!, rejections).map((one) => store.consume(one))), textbook);
  });
}

async function compareStores(history: BlockHistory): Promise<void> {
  await redis.client.flushdb();
  const clock = new TestClock();
  const options = { clock: clock.read, maxSkew: history.maxSkewMs };
  const [inTurns, inMemory] = [new RedisStore(redis.client, options), new MemoryStore(options)];
  const blocksOf = (prefix: string): BlockCharge[] => ['a', 'b'].map((key) => blockFor(history, `${prefix}:${key}`));
  const [turns, single] = [blocksOf('turns'), blocksOf('single')];
  await play(history, FALLBACK, clock, async (key, rejections) => {
    const alone = requestsOf(single[key]!, rejections);
    const verdicts = alone.map((charges) => inMemory.consume(charges));
    const together = requestsOf(turns[key]!, rejections).map((charges) => inTurns.consume(charges));
    expectSame(await Promise.all(together), verdicts);
    expectSame(await oneByOne(redis.client, options, alone), verdicts);
  });
  const keysOf = (blocks: readonly BlockCharge[]): string[] => blocks.map(({ key }) => key);
  expectSame(await contentsOf(redis.client, keysOf(turns)), await contentsOf(redis.client, keysOf(single)));
}

describe('blocks that escalate', () => {
  it('are those of the textbook, at each edge to the microsecond', async () => {
    await fc.assert(fc.asyncProperty(historiesOf(forwards), compareWithTextbook), histories(10));
  });

  it(
    'are the same in memory, in Redis by requests and in Redis by turns, on a clock that steps back, too',
    async () => {
      await fc.assert(fc.asyncProperty(historiesOf(anywhere), compareStores), histories());
    },
    HISTORY_TIMEOUT_MS,
  );

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

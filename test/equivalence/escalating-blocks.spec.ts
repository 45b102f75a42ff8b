import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { assert, asyncProperty, property } from 'fast-check';
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
  return fc.record({
    after: fc.constantFrom(1, 2, 3),
    durations: fc.subarray([1_000, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, 60 * MINUTE], { minLength: 1 }),
    maxSkewMs: fc.constantFrom(0, 0, 100, 10_000),
    turns: fc.array(
      fc.record({ move: moves, rejections: fc.integer({ min: 0, max: 4 }), key: fc.constantFrom(0, 0, 0, 1) }),
      { minLength: 1, maxLength: 40 },
    ),
  });
}

function blockFor({ after, durations }: Pick<BlockHistory, 'after' | 'durations'>, key: string): BlockCharge {
  const algorithm = blockOf({}, durations, after, (problem) => {
    throw new Error(problem);
  });
  return { key, algorithm: algorithm!, cost: 1 };
}

/** The charges of a key that are rejected, and one that asks. */
function requestsOf(block: BlockCharge): readonly [rejected: Charge[], peek: Charge[]] {
  const charge = { key: `${block.key}:window`, algorithm: ONE, cost: 2, block };
  return [[charge], [{ ...charge, cost: 0, block: { ...block, cost: 0 } }]];
}

/** Moves a clock as a history says, and never back by more than `FALLBACK`. */
class Mover {
  private latest = NOW;

  constructor(
    private readonly clock: TestClock,
    private readonly textbook: TextbookBlocks,
  ) {}

  move(move: Move, block: BlockCharge): void {
    const { clock, textbook } = this;
    if ('by' in move) clock.now += move.by;
    else if (move.to === 'end') clock.now += textbook.left({ block }, clock.now) + move.off;
    else clock.now = Math.max(clock.now, textbook.forgottenAt(block) + move.off);
    clock.now = Math.max(clock.now, this.latest - FALLBACK);
    this.latest = Math.max(this.latest, clock.now);
  }
}

const brief = ({ blockedFor, blockStep }: ChargeVerdict): unknown => [blockedFor, blockStep];
const briefs = (verdicts: readonly Verdict[]): unknown => verdicts.map(({ charges }) => brief(charges[0]!));

/** What the textbook says of the turn: of each rejection, then of a peek. */
function textbookTurn(textbook: TextbookBlocks, block: BlockCharge, rejections: number, now: number): unknown {
  const escalates = block.algorithm.durations.length > 1;
  const said: unknown[] = [];
  for (let i = 0; i <= rejections; i++) {
    if (i < rejections && textbook.left({ block }, now) === 0) textbook.rejected({ block }, now);
    const left = textbook.left({ block }, now);
    said.push(left === 0 ? [undefined, undefined] : [left, escalates ? textbook.step({ block }, now) : undefined]);
  }
  return said;
}

function compareWithTextbook(history: BlockHistory): void {
  const clock = new TestClock(NOW);
  const textbook = new TextbookBlocks();
  const mover = new Mover(clock, textbook);
  const store = new MemoryStore({ clock: clock.read });
  const blocks = ['a', 'b'].map((key) => blockFor(history, key));
  for (const { move, rejections, key } of history.turns) {
    const block = blocks[key]!;
    // `off` may lie before the present.
    const before = clock.now;
    mover.move(move, block);
    clock.now = Math.max(before, clock.now);
    const [rejected, peek] = requestsOf(block);
    const verdicts = Array.from({ length: rejections }, () => store.consume(rejected));
    expectSame(briefs([...verdicts, store.consume(peek)]), textbookTurn(textbook, block, rejections, clock.now));
  }
}

async function compareStores(history: BlockHistory): Promise<void> {
  await redis.client.flushdb();
  const clock = new TestClock(NOW);
  const textbook = new TextbookBlocks();
  const mover = new Mover(clock, textbook);
  const options = { clock: clock.read, maxSkew: history.maxSkewMs };
  const [inTurns, inMemory] = [new RedisStore(redis.client, options), new MemoryStore(options)];
  const [turns, single] = ['turns', 'single'].map((prefix) =>
    ['a', 'b'].map((key) => blockFor(history, `${prefix}:${key}`)),
  ) as [BlockCharge[], BlockCharge[]];
  for (const { move, rejections, key } of history.turns) {
    mover.move(move, turns[key]!);
    textbookTurn(textbook, turns[key]!, rejections, clock.now);
    const ask = async (store: () => RedisStore | MemoryStore, block: BlockCharge): Promise<Verdict[]> => {
      const [rejected, peek] = requestsOf(block);
      const asked = Array.from({ length: rejections }, () => store().consume(rejected));
      return await Promise.all([...asked, store().consume(peek)]);
    };
    const verdicts = await ask(() => inMemory, single[key]!);
    expectSame(await ask(() => inTurns, turns[key]!), verdicts);
    expectSame(await ask(() => new RedisStore(redis.client, options), single[key]!), verdicts);
  }
  const keysOf = (blocks: readonly BlockCharge[]): string[] => blocks.map(({ key }) => key);
  expectSame(await contentsOf(redis.client, keysOf(turns)), await contentsOf(redis.client, keysOf(single)));
}

describe('blocks that escalate', () => {
  it('are those of the textbook, at each edge to the microsecond', () => {
    assert(property(historiesOf(forwards), compareWithTextbook), histories(10));
  });

  it(
    'are the same in memory, in Redis by requests and in Redis by turns, on a clock that steps back, too',
    async () => {
      await assert(asyncProperty(historiesOf(anywhere), compareStores), histories());
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
    const [wrong, right] = ['a', 'b'].map((key) => requestsOf(blockFor(some, key))[0]);
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

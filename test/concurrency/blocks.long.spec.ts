import { expect, it } from '@jest/globals';
import { MemoryStore, type Policy } from 'nestjs-floodgate';
import { EscalatingBlockAlgorithm } from '../../libs/rate-limit/src/algorithms/block/escalating-block.js';
import { type AnyBlockAlgorithm, BlockAlgorithm } from '../../libs/rate-limit/src/algorithms/block/block.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { TestClock } from '../support/test-clock.js';
import { merge, parse, type Seen } from './support/history.js';
import { useLimiters } from './support/limiters.js';

const IN_FLIGHT = [1, 1, 2, 2, 4, 4, 8, 8];
const AFTER = 50;
const BLOCK = 150_000;

const limiters = useLimiters(IN_FLIGHT.length);

/** Repeats the requests one by one in this process. Of two rejections in one microsecond, the one that waits longer is the later. */
function replay(history: readonly Seen[], policy: Policy, algorithmOfBlock: AnyBlockAlgorithm): Seen[] {
  const clock = new TestClock();
  const store = new MemoryStore({ clock: clock.read });
  const block = { key: 'block', algorithm: algorithmOfBlock, cost: 1 };
  const algorithm = algorithmOf(policy);
  return history.map((seen) => {
    clock.now = seen.at;
    const { at, charges } = store.consume([{ key: 'key', algorithm, cost: 1, block }]);
    const { blockedFor: _, blockStep: __, ...verdict } = charges[0]!;
    return { at, ...verdict };
  });
}

it.each([
  ['begin a block', [BLOCK], new BlockAlgorithm(AFTER, BLOCK)],
  ['climb a step', [BLOCK / 2, BLOCK, 2 * BLOCK], new EscalatingBlockAlgorithm(AFTER, [BLOCK / 2, BLOCK, 2 * BLOCK])],
])(
  'processes that hammer one key %s for each 50 rejections, to the microsecond',
  async (_, durations, block) => {
    // Each case has keys of its own.
    const policy = { name: `door-${durations.length}`, algorithm: 'token-bucket', capacity: 20, refill: 400 } as const;
    const blockFor = durations.map((duration) => duration / 1000);
    const door: Policy = { ...policy, blockFor, blockAfter: AFTER };
    const parsed: Seen[][] = [];
    // A slow machine takes longer until a block of each duration has begun.
    while (!parsed.flat().some(({ retryAfter }) => retryAfter === durations.at(-1))) {
      const asked = await limiters.processes.all('hammer', (i) => ({
        policy: door,
        forMs: 1500,
        inFlight: IN_FLIGHT[i]!,
      }));
      parsed.push(...asked.map(parse));
    }
    const history = merge(parsed).toSorted(
      (a, b) =>
        a.at - b.at ||
        Number(b.allowed) - Number(a.allowed) ||
        b.remaining - a.remaining ||
        a.retryAfter - b.retryAfter,
    );
    expect(replay(history, policy, block)).toEqual(history);
  },
  60_000,
);

import { BlockAlgorithm } from '../../algorithms/block/block.js';
import { EscalatingBlockAlgorithm } from '../../algorithms/block/escalating-block.js';
import { MINUTE, SECOND } from './instants.js';
import type { Law, Laws } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf } from './small-policies.js';
import type { ChargeVerdict } from '../../stores/store.js';
import type { Timeline } from './timeline.js';

const HOUR = 60 * MINUTE;
const one = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });
/** Cost 2 never fits, so that each request is rejected in whichever window. */
const COST = 2;
const single = new BlockAlgorithm(2, MINUTE);
const escalating = new EscalatingBlockAlgorithm(2, [MINUTE, 10 * MINUTE, HOUR]);
const afterThree = new EscalatingBlockAlgorithm(3, escalating.durations);
const atOnce = new EscalatingBlockAlgorithm(1, [SECOND, MINUTE]);

/** A rejection at an instant from `ORIGIN`, and what is said of the block: how long it lasts from then on, and its step. */
type Row = readonly [at: number, blockedFor?: number, blockStep?: number];

/** Rejections of one key, in their order. A row without a block counts only. */
interface BlockTable {
  readonly block: BlockAlgorithm | EscalatingBlockAlgorithm;
  readonly maxSkewMs?: number;
  readonly rows: readonly Row[];
}

const TABLES: Readonly<Record<string, BlockTable>> = {
  'a single duration begins each block anew': {
    block: single,
    rows: [
      [0],
      [SECOND, MINUTE],
      [61 * SECOND - 1, 1],
      [61 * SECOND],
      [62 * SECOND, MINUTE],
      [122 * SECOND],
      [182 * SECOND - 1, MINUTE],
    ],
  },
  'rejections count together from the first one on, and later ones make that no longer': {
    block: new BlockAlgorithm(3, MINUTE),
    rows: [[0], [30 * SECOND], [MINUTE], [90 * SECOND], [90 * SECOND, MINUTE]],
  },
  'rejections of a list count together from the first one on, too': {
    block: afterThree,
    rows: [[0], [30 * SECOND], [MINUTE], [90 * SECOND], [90 * SECOND, MINUTE, 1]],
  },
  'a list blocks for its next duration while the client comes back, and its last one repeats': {
    block: escalating,
    rows: [
      [0],
      [SECOND, MINUTE, 1],
      [31 * SECOND, 30 * SECOND, 1],
      [61 * SECOND - 1, 1, 1],
      [61 * SECOND],
      [62 * SECOND, 10 * MINUTE, 2],
      [662 * SECOND - 1, 1, 2],
      [662 * SECOND],
      [663 * SECOND, HOUR, 3],
      [4263 * SECOND],
      [4264 * SECOND, HOUR, 3],
      [7864 * SECOND - 1, 1, 3],
    ],
  },
  'a step is forgotten when the longest duration has passed since its block ended, and not a microsecond before': {
    block: escalating,
    rows: [
      [0],
      [0, MINUTE, 1],
      [MINUTE + HOUR - 1],
      [MINUTE + HOUR - 1, 10 * MINUTE, 2],
      // This block ends at 71 minutes.
      [71 * MINUTE - 1 + HOUR - SECOND],
      [71 * MINUTE - 1 + HOUR, MINUTE, 1],
      [72 * MINUTE - 1 + HOUR],
      [72 * MINUTE - 1 + HOUR, 10 * MINUTE, 2],
    ],
  },
  'a new block of the last step renews the memory': {
    block: atOnce,
    rows: [
      [0, SECOND, 1],
      [SECOND, MINUTE, 2],
      [SECOND + 2 * MINUTE - 1, MINUTE, 2],
      [SECOND + 4 * MINUTE - 2, MINUTE, 2],
      [SECOND + 6 * MINUTE - 2, SECOND, 1],
    ],
  },
  'rejections count together for the first duration, whatever the step': {
    block: escalating,
    rows: [
      [0],
      [MINUTE],
      [MINUTE, MINUTE, 1],
      [2 * MINUTE],
      [3 * MINUTE],
      [4 * MINUTE - 1, 10 * MINUTE, 2],
      [14 * MINUTE - 1],
      [15 * MINUTE - 1],
      [15 * MINUTE, HOUR, 3],
    ],
  },
  'requests during a block count nothing, and make neither it nor its memory longer': {
    block: escalating,
    rows: [
      [0],
      [0, MINUTE, 1],
      ...Array.from({ length: 20 }, (_, i): Row => [i * SECOND, MINUTE - i * SECOND, 1]),
      [MINUTE + HOUR],
      [MINUTE + HOUR, MINUTE, 1],
    ],
  },
  'a block ahead of a clock that stepped back is rebased, and so is its memory': {
    block: escalating,
    rows: [
      [10 * HOUR],
      [10 * HOUR, MINUTE, 1],
      [10 * HOUR + MINUTE],
      [10 * HOUR + MINUTE, 10 * MINUTE, 2],
      [HOUR, 10 * MINUTE, 2],
      [HOUR + 10 * MINUTE - 1, 1, 2],
      [HOUR + 10 * MINUTE],
      [HOUR + 10 * MINUTE, HOUR, 3],
      [2 * HOUR + 10 * MINUTE],
      // Counted rejections are rebased, too.
      [HOUR, HOUR, 3],
    ],
  },
  'the memory of a step ahead of a clock that stepped back is the longest duration': {
    block: afterThree,
    rows: [
      [10 * HOUR],
      [10 * HOUR],
      [10 * HOUR, MINUTE, 1],
      [10 * HOUR + MINUTE],
      [9 * HOUR],
      [10 * HOUR - 1],
      [10 * HOUR - 1],
      [10 * HOUR, MINUTE, 1],
      [10 * HOUR + MINUTE],
      [9 * HOUR],
      [10 * HOUR - 1],
      [10 * HOUR - 1],
      [10 * HOUR - 1, 10 * MINUTE, 2],
    ],
  },
  'nothing is rebased within the skew': {
    block: escalating,
    maxSkewMs: 10_000,
    rows: [
      [HOUR],
      [HOUR, MINUTE, 1],
      [HOUR - 10 * SECOND, 70 * SECOND, 1],
      [HOUR - 10 * SECOND - 1, MINUTE, 1],
      [HOUR - 10 * SECOND + MINUTE - 2, 1, 1],
      [HOUR - 10 * SECOND + MINUTE - 1],
    ],
  },
};

/** A law of stores that know blocks. Any other store is not asked. */
function blocking(law: Law): Law {
  return async (open) => {
    if ((await open()).blocks) await law(open);
  };
}

function follow({ block, maxSkewMs, rows }: BlockTable): Law {
  return async (open) => {
    const timeline = await open(maxSkewMs);
    for (const [i, [at, blockedFor, blockStep]] of rows.entries()) {
      const where = `rejection ${i + 1} of ${rows.length}, at ${at} microseconds`;
      const { allowed, ...said } = await timeline.offend(at, [one, COST], block);
      expectSame(where, { allowed, ...of(said) }, { allowed: false, blockedFor, blockStep });
    }
  };
}

function of({ blockedFor, blockStep }: { readonly blockedFor?: number; readonly blockStep?: number }): object {
  return { blockedFor, blockStep };
}

async function climb(timeline: Timeline, step: number): Promise<void> {
  expectFields(`a block of step ${step}`, await timeline.offend(0, [one, COST], atOnce), { blockStep: step });
}

/** What holds for blocks, of one duration and of several. A store without `'block'` in `supports` is not asked. */
export const BLOCKS: Laws = {
  ...Object.fromEntries(Object.entries(TABLES).map(([name, table]) => [name, blocking(follow(table))])),

  'a reset of its key ends a block, and forgets its step': blocking(async (open) => {
    const timeline = await open();
    await climb(timeline, 1);
    expectFields('its step', await timeline.offend(SECOND, [one, COST], atOnce), { blockStep: 2 });
    await timeline.reset('{key}:block');
    await climb(timeline, 1);
  }),

  'concurrent rejections begin one block': blocking(async (open) => {
    const timeline = await open();
    const asked = Array.from({ length: 20 }, () => timeline.offend(0, [one, COST], escalating));
    const steps = (await Promise.all(asked)).map(({ blockStep }) => blockStep);
    expectSame('their steps', steps, [undefined, ...Array<number>(19).fill(1)]);
  }),

  'a charge that counts no rejections waits for a block, and leads to none': blocking(async (open) => {
    for (const block of [single, escalating]) {
      const timeline = await open();
      const key = block.name;
      const quiet = (at: number, cost = 1): Promise<ChargeVerdict> => timeline.offend(at, [one, cost, key], block, 0);
      await quiet(0);
      for (let i = 0; i < 9; i++) expectSame('a rejection', of(await quiet(i)), of({}));
      const rejections = await Promise.all(
        [1, 0, 1, 0].map((counts) => timeline.offend(SECOND, [one, COST, key], block, counts as 0 | 1)),
      );
      const blockedFor = rejections.map((verdict) => verdict.blockedFor);
      expectSame('the rejections of one instant', blockedFor, [undefined, undefined, MINUTE, MINUTE]);
      expectFields('a charge that a block rejects', await quiet(2 * SECOND), {
        allowed: false,
        blockedFor: 59 * SECOND,
      });
      expectFields('a charge after the block', await quiet(HOUR), { allowed: true });
    }
  }),
};

import { beforeEach, describe, expect, it } from '@jest/globals';
import { SLOTS, slotOf } from '../../slots.js';
import { ShardSpread } from './shard-spread.js';
import { shardTags } from '../../shard-tags.js';

const KEYS = shardTags(6).map((tag) => `rl:{${tag}}:app:all:tb:60@1/100`);

let lines: string[];
let refreshed: () => void;
let slots: (readonly string[] | undefined)[];

beforeEach(() => {
  lines = [];
  slots = equalRanges(6);
});

/** Masters with equal ranges of slots. */
function equalRanges(masters: number): (readonly string[])[] {
  return Array.from({ length: SLOTS }, (_, slot) => [`10.0.0.${Math.floor((slot * masters) / SLOTS)}:6379`, 'replica']);
}

function spread(keyPrefix = ''): ShardSpread {
  const cluster = {
    masterOf: (slot: number) => slots[slot]?.[0],
    masters: () => new Set(slots.flatMap((owners) => owners?.[0] ?? [])),
    onSlots: (listener: () => void) => void (refreshed = listener),
  };
  const logger = { log: (line: string) => lines.push(line), warn: (line: string) => lines.push(`warn: ${line}`) };
  return new ShardSpread(cluster, { slotOf: (key) => slotOf(`${keyPrefix}${key}`) }, logger);
}

describe('the spread of shards', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 12, 100])('is even on %i masters with equal ranges', (masters) => {
    slots = equalRanges(masters);
    spread().check(KEYS);
    expect(lines).toEqual([]);
  });

  it('warns once of a node with too many, and says when it is even again', () => {
    const all = spread();
    // The slots of the second master move to the first one, but for a few.
    slots = slots.map((owners, slot) => (slot > 2_730 && slot < 5_000 ? slots[0] : owners));
    for (let i = 0; i < 3; i++) {
      all.check(KEYS);
      refreshed();
    }
    expect(lines).toEqual([
      expect.stringContaining(
        `warn: Of the 6 shards of ${KEYS[0]} and its like, 2 lie on node 10.0.0.0:6379 of 6, where 1 would be even: give each master an equal range of slots that follow each other, and the client no keyPrefix with braces (see`,
      ),
    ]);
    slots = equalRanges(6);
    all.check(KEYS); // the client has not read them yet: nothing says so
    refreshed();
    all.check(KEYS);
    expect(lines).toEqual([expect.anything(), `The 6 shards of ${KEYS[0]} and its like lie evenly again`]);
  });

  it('warns where the prefix of the client puts all shards into one slot', () => {
    spread('{staging}').check(KEYS);
    expect(lines).toEqual([expect.stringContaining('warn: Of the 6 shards of')]);
    expect(lines[0]).toContain(', 6 lie on node');
  });

  it('says nothing while no slots are known', () => {
    slots = [];
    spread().check(KEYS);
    expect(lines).toEqual([]);
  });
});

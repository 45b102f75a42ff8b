import { describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { MAX_TAG_BYTES } from '../identity/identity-tag.js';
import { shardSlot, shardTags } from './shard-tags.js';

const SLOTS = 16_384;
const COUNTS = Array.from({ length: 63 }, (_, i) => i + 2);

/** The first slot of each master, as `redis-cli --cluster create` gives them out. */
const edgesOf = (masters: number): number[] =>
  Array.from({ length: masters }, (_, i) => Math.round((i * SLOTS) / masters));

describe('the tags of shards', () => {
  it.each(COUNTS)('of %i lie in slots of equal distance', (shards) => {
    const slots = shardTags(shards).map((tag) => calculateSlot(`rl:{${tag}}:app:all:tb:30000@1/66`));
    expect(slots).toEqual(Array.from({ length: shards }, (_, i) => Math.floor(((i + 0.5) * 16_384) / shards)));
    expect(slots).toEqual(slots.map((_, i) => shardSlot(i, shards)));
    const gaps = slots.map((slot, i) => (slots[i + 1] ?? slots[0]! + SLOTS) - slot);
    expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThanOrEqual(1);
  });

  it('lie on masters with equal ranges in numbers that differ by 1 at most', () => {
    for (const shards of COUNTS) {
      const slots = shardTags(shards).map((tag) => calculateSlot(tag));
      for (const masters of [1, 2, 3, 4, 5, 6, 7, 10, 12, 31, 64, 100]) {
        const edges = [...edgesOf(masters), SLOTS];
        const counts = edges.slice(1).map((end, i) => slots.filter((slot) => slot >= edges[i]! && slot < end).length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }
    }
  });

  it('are short, and different for each shard and each number of shards', () => {
    const all = COUNTS.flatMap((shards) => shardTags(shards));
    expect(new Set(all).size).toBe(all.length);
    expect(Math.max(...all.map(({ length }) => length))).toBeLessThan(20);
    expect(20).toBeLessThan(MAX_TAG_BYTES);
  });

  it('never change: processes of several versions count together', () => {
    expect(shardTags(2)).toEqual(['global/2.5462', 'global/2.12274']);
    expect(shardTags(6)).toEqual([
      'global/6.4863',
      'global/6.9052',
      'global/6.49616',
      'global/6.47830',
      'global/6.7049',
      'global/6.10561',
    ]);
  });
});

import { SLOTS, slotOf } from './slots.js';

const TAGS = new Map<number, readonly string[]>();

/**
 * The hash tags of so many shards. Their slots are evenly spaced, so that masters with equal ranges of slots have equally many.
 *
 * They depend on the number alone, and not on the slots that each master has: processes may know different slot maps, and with
 * different keys they would together admit more than the limit.
 *
 * @param shards 1 to 64
 */
export function shardTags(shards: number): readonly string[] {
  let tags = TAGS.get(shards);
  if (tags === undefined) TAGS.set(shards, (tags = searchedTags(shards)));
  return tags;
}

/** The slot of a shard: the middle of its part of all slots. */
export function shardSlot(shard: number, shards: number): number {
  return Math.floor(((shard + 0.5) * SLOTS) / shards);
}

/** Tries numbers until each slot has a tag: about 16,384 for the first one, 80,000 for 64 (10 ms). */
function searchedTags(shards: number): readonly string[] {
  const missing = new Map(Array.from({ length: shards }, (_, shard) => [shardSlot(shard, shards), shard]));
  const tags: string[] = Array<string>(shards);
  for (let i = 0; missing.size > 0; i++) {
    // No identity's tag contains a slash before a colon. The number of shards keeps a deploy that changes it apart.
    const tag = `global/${shards}.${i}`;
    const slot = slotOf(tag);
    const shard = missing.get(slot);
    if (shard === undefined) continue;
    tags[shard] = tag;
    missing.delete(slot);
  }
  return tags;
}

import { describe, expect, it } from '@jest/globals';
import { MODELS } from '../../lab/spec/models.js';
import { keptTraces } from '../../lab/spec/traces.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { givenIoredis } from '../../libs/floodgate/src/stores/redis/clients/ioredis-client.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Clock } from '../../libs/floodgate/src/stores/store.js';
import { useRedis } from '../support/redis-fixture.js';
import { REPLAYS } from './replays/all.js';
import { differenceIn } from './replays/replay.js';

const redis = useRedis();
const STORES = [
  ['MemoryStore', (clock: Clock) => new MemoryStore({ clock })],
  ['RedisStore', (clock: Clock) => new RedisStore(redis.client, { clock, maxSkew: 0 })],
] as const;

it('has a replay for each model', () => {
  expect(Object.keys(REPLAYS).toSorted()).toEqual(MODELS.map(({ name }) => name).toSorted());
});

describe.each(STORES)('what the models decide, %s decides', (_, open) => {
  describe.each(MODELS.map((model) => [model.name, model] as const))('%s', (name, model) => {
    const traces = keptTraces(model);
    it.each(traces.map((trace, i) => [i + 1, trace] as const))('trace %i', async (_number, trace) => {
      const begin = () => REPLAYS[name]!({ open, client: givenIoredis(redis.client) });
      expect(await differenceIn(trace, begin)).toBeUndefined();
    });
  });
});

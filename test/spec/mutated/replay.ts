// Replays the traces of a model on a wrong library, and prints what it decides otherwise: replay.ts <URL of a Redis> <index of the mutation>
import { register } from 'node:module';
import { Redis } from 'ioredis';
import { MODELS } from '../../../lab/spec/models.js';
import { keptTraces } from '../../../lab/spec/traces.js';
import type { Clock } from '../../../libs/floodgate/src/stores/store.js';
import { CODE_MUTATIONS } from './mutations.js';

const [url, index] = process.argv.slice(2);
const mutation = CODE_MUTATIONS[Number(index)]!;
register('./hooks.js', import.meta.url, { data: mutation });
// All of the library is loaded from here on.
const { MemoryStore } = await import('../../../libs/floodgate/src/stores/memory/memory.store.js');
const { RedisStore } = await import('../../../libs/floodgate/src/stores/redis/redis.store.js');
const { givenIoredis } = await import('../../../libs/floodgate/src/stores/redis/clients/ioredis-client.js');
const { REPLAYS } = await import('../replays/all.js');
const { differenceIn } = await import('../replays/replay.js');

const redis = new Redis(url!);
const client = givenIoredis(redis);
const stores = {
  MemoryStore: (clock: Clock) => new MemoryStore({ clock }),
  RedisStore: (clock: Clock) => new RedisStore(redis, { clock, maxSkew: 0 }),
};
const found: string[] = [];
for (const [name, open] of Object.entries(stores)) {
  for (const trace of keptTraces(MODELS.find((model) => model.name === mutation.model)!)) {
    const difference = await differenceIn(trace, () => REPLAYS[mutation.model]!({ open, client }));
    if (difference !== undefined) found.push(`${name}: ${difference}`);
  }
}
process.stdout.write(JSON.stringify(found));
process.exit();

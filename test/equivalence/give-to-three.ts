import type { Redis } from 'ioredis';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore, type RedisStoreOptions } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { type Charge, LOAD, type Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { FALLBACK, MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { contentsOf } from '../support/redis-fixture.js';
import { type History, requestsOf } from './histories.js';

/**
 * Gives one history to three stores: to Redis by turns of the event loop, to Redis by single requests (each has its own store,
 * and so its own run of the Lua program), and to the memory of this process. Their verdicts are the same field by field, and so
 * are the states of both runs in Redis.
 *
 * @param poolOf the charges of a run, whose keys begin with the prefix
 * @param shown what is compared of verdicts: it must not name the run's keys
 */
export async function giveToThree(
  client: Redis,
  history: History,
  poolOf: (prefix: string) => Charge[][],
  shown: (verdicts: readonly Verdict[]) => readonly unknown[] = (verdicts) => verdicts,
): Promise<void> {
  await client.flushdb();
  const clock = new MovingClock(history.start, FALLBACK);
  const options = { clock: clock.read, maxSkew: history.maxSkewMs };
  const inTurns = new RedisStore(client, options);
  const inMemory = new MemoryStore(options);
  const [turns, single] = [poolOf('turns'), poolOf('single')];
  const first = algorithmOf(history.policies[0]![0]);
  let verdicts: Verdict[] = [];
  for (const turn of history.turns) {
    clock.move(turn.move, first, verdicts);
    const together = requestsOf(turn, turns).map((charges) => inTurns.consume(charges));
    const alone = oneByOne(client, options, requestsOf(turn, single));
    verdicts = requestsOf(turn, single).map((charges) => inMemory.consume(charges));
    expectSame(shown(await alone), shown(verdicts));
    expectSame(shown(await Promise.all(together)), shown(verdicts));
  }
  expectSame(await contentsOf(client, keysOf(turns)), await contentsOf(client, keysOf(single)));
}

/** Asks about each request in a call of its own. A store loads its code at its first call, so an unloaded one may be overtaken. */
async function oneByOne(
  client: Redis,
  options: RedisStoreOptions,
  requests: readonly (readonly Charge[])[],
): Promise<Verdict[]> {
  const stores = await Promise.all(requests.map(() => new RedisStore(client, options)[LOAD]()));
  return Promise.all(requests.map((charges, i) => stores[i]!.consume(charges)));
}

function keysOf(pool: readonly (readonly Charge[])[]): string[] {
  return pool.flat().flatMap(({ key, block }) => (block === undefined ? [key] : [key, block.key]));
}

import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { RateLimitRuntime } from '../../support/runtime.js';
import { COUNTED, CROWD, optionsWith, PLACES, QUEUE, RESERVED_COST, SETTLED, stage } from './stage.js';
import { storeOf } from './stores.js';
import type { Served, Transport } from './transport.js';

const LIMIT_MS = 30_000;
/** A busy machine answers the requests before in this time. */
const DEADLINE_MS = 300;
const LOOKED_AT = [PLACES, COUNTED, SETTLED, QUEUE];
type Levels = readonly number[];

/** What becomes of the store's answer: its charges are made. */
const EVENTS = ['late', 'lost'] as const;

/**
 * Requests that the store charges, and whose answers come after the deadline, or never: they are decided without it, and what they
 * would hold is given back.
 *
 * @param url of Redis; undefined: a store in memory
 */
export function describeUnanswered(transport: Transport, count: number, url: () => string | undefined): void {
  it.each(EVENTS)('nothing is left of requests that the store answers too late (%s)', async (event) => {
    const address = url();
    const client = address === undefined ? undefined : new Redis(address);
    try {
      const store = storeOf(client, true);
      const options = { ...optionsWith(store), deadline: DEADLINE_MS, onStoreFailure: 'open' } as const;
      await using served = await transport.open(options, 'queue');
      const clients = [];
      for (let i = 0; i < count; i++) clients.push(await served.client(transport.ways[0]!));
      const { leases } = served.app.get(RateLimitRuntime).parts;
      await until(
        'what came before has ended',
        LIMIT_MS,
        () => stage.settled.length === stage.charged && leases.size === 0,
      );
      await served.app.get(RateLimiter).consume(QUEUE, CROWD); // the first slot leaves at once, and takes no place
      const before = await levelsOf(served);
      stage.forget();

      stage.gates.store.close();
      const sent = clients.map((one) => one.send('queue'));
      await until('all are charged', LIMIT_MS, () => stage.gates.store.arrived === count);
      await Promise.all(sent.map(async ({ done }) => done)); // by the fallback
      expect({
        entered: stage.entered,
        charged: stage.charged,
        settled: stage.settled.length,
        leases: leases.size,
      }).toEqual({
        entered: count,
        charged: count,
        settled: 0,
        leases: 0,
      });
      expect(await levelsOf(served)).toEqual(taken(before, count, count));
      // A place whose answer is lost is free after some seconds. Nobody knows of the other charges.
      if (event === 'lost') stage.gates.store.lose();
      else stage.gates.store.open();
      const wanted = event === 'late' ? before : taken(before, count, 0);
      const isSo = async (): Promise<boolean> => JSON.stringify(await levelsOf(served)) === JSON.stringify(wanted);
      await until('all is given back', LIMIT_MS, isSo).catch(() => {}); // the comparison shows what is missing
      expect(await levelsOf(served)).toEqual(wanted);
      expect(served.logs.of('error').filter((line) => transport.noise?.test(line) !== true)).toEqual([]);
    } finally {
      stage.gates.store.open();
      await client?.quit();
    }
  });
}

/** What the policies have left. */
async function levelsOf({ app }: Served): Promise<Levels> {
  const limiter = app.get(RateLimiter);
  return Promise.all(LOOKED_AT.map(async (policy) => (await limiter.peek(policy, CROWD)).policies[0]!.remaining));
}

/** What is left after so many charges. */
function taken([places, counted, settled, queue]: Levels, count: number, held: number): Levels {
  return [places! - held, counted! - count, settled! - count * RESERVED_COST, queue! - count];
}

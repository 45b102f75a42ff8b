import { describe, it } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import type { ProgramRunner } from '../../libs/rate-limit/src/stores/redis/clients/client.js';
import type { RedisClient } from '../../libs/rate-limit/src/stores/redis/clients/redis-client.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import { RedisReservationLog } from '../../libs/rate-limit/src/stores/redis/reservation-log.js';
import { type Clock, LOAD } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS } from '../support/algorithm-of.js';
import { useOneNode } from '../support/faults/by-node.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { expiringHistoriesOf } from './expiring-histories.js';
import { type Open, playExpiring } from './expiring-play.js';
import type { Shared } from './expiring-process.js';

const redis = useRedis();
const node = useOneNode();
const RESERVABLE = ALL_ALGORITHMS.filter((name) => name !== 'concurrency');

const HOUR_MS = '3600000';

/**
 * The log's keys expire by the time of Redis, which does not stand still: here each lives for an hour after its last entry.
 * test/conformance/reservation-log.clients.spec.ts says how long a key lives.
 */
function withoutLapse(runner: ProgramRunner): ProgramRunner {
  const longer = ([key, operation, ...args]: readonly string[]): readonly string[] =>
    operation === 'add' ? [key!, operation, ...args.toSpliced(2, 1, HOUR_MS)] : [key!, operation!, ...args];
  return {
    keyPrefix: runner.keyPrefix,
    runByHash: (sha1, keys, args) => runner.runByHash(sha1, keys, longer(args)),
    runByText: (text, keys, args) => runner.runByText(text, keys, longer(args)),
    failureOf: (error) => runner.failureOf(error),
  };
}

async function sharedOn(client: RedisClient, clock: Clock, maxSkewMs: number): Promise<Shared> {
  const store = await new RedisStore(client, { clock, maxSkew: maxSkewMs })[LOAD]();
  const read = { read: clock, maxSkew: maxSkewMs * 1_000 };
  const log = new RedisReservationLog(
    { client: withoutLapse(store.client) },
    (part) => `rl:{reservations-${part}}`,
    read,
  );
  return { store, log };
}

interface Kind {
  readonly where: string;
  readonly open: Open;
  readonly processes: number;
  readonly clear: () => Promise<unknown>;
  /** The part of the histories that it tries. */
  readonly share: number;
}

/**
 * A process that sweeps while another one settles is not here, because Redis says which of them is first:
 * test/concurrency/expiring.long.spec.ts lets them race.
 */
const KINDS: readonly Kind[] = [
  {
    where: 'in memory, by one process',
    open: (clock, maxSkew) => ({ store: new MemoryStore({ clock, maxSkew }), log: undefined }),
    processes: 1,
    clear: async () => undefined,
    share: 0.3,
  },
  {
    where: 'in Redis, by three processes',
    open: (clock, maxSkew) => sharedOn(redis.client, clock, maxSkew),
    processes: 3,
    clear: () => redis.client.flushdb(),
    share: 0.2,
  },
  {
    where: 'in several slots of a Cluster, by three processes',
    open: (clock, maxSkew) => sharedOn(node.client, clock, maxSkew),
    processes: 3,
    clear: () => node.admin.flushdb(),
    share: 0.06,
  },
];

describe.each(KINDS)('reservations that expire come to what a list of them says, $where', (kind) => {
  describe.each([
    ['one by one', false],
    ['several in a turn of the event loop', true],
  ])('%s', (_, together) => {
    it.each(RESERVABLE)(
      '%s',
      async (name) => {
        const property = asyncProperty(expiringHistoriesOf(name), async (history) => {
          await kind.clear();
          await playExpiring(history, { ...kind, together });
        });
        await assert(property, histories(kind.share));
      },
      HISTORY_TIMEOUT_MS,
    );
  });
});

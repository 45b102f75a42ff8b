import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { shardSlot } from '../../libs/floodgate/src/stores/shard-tags.js';
import { type ClusterNode, RedisCluster } from '../support/faults/redis-cluster.js';
import { Processes } from '../support/processes.js';
import { commandsDuring } from './support/command-stats.js';
import type { procedures } from './workers/shards.js';

const MASTERS = 6;
const PROCESSES = 4;
const LASTING = { algorithm: 'fixed-window', window: '300d', by: 'global' } as const;

let cluster: RedisCluster;
let masters: ClusterNode[];
let processes: Processes<typeof procedures>;

beforeAll(async () => {
  cluster = await RedisCluster.start(['--cluster-node-timeout', '60000'], { masters: MASTERS, replicas: 0 });
  masters = await cluster.masters();
  processes = await Processes.start(new URL('workers/shards.ts', import.meta.url), PROCESSES);
  await processes.all('connect', () => masters.map(({ host, port }) => ({ host, port })));
});

beforeEach(async () => {
  await Promise.all(masters.map(({ client }) => client.flushall()));
});

afterAll(async () => {
  await processes?.stop();
  await cluster?.stop();
});

/** How many calls of the program each master ran during `work`. */
async function callsDuring(work: () => Promise<unknown>): Promise<number[]> {
  const worked = masters.reduce<() => Promise<unknown>>((all, { client }, i) => {
    return async () => (calls[i] = (await commandsDuring(client, all))('evalsha').calls);
  }, work);
  const calls: number[] = [];
  await worked();
  return calls;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

describe.each([6, 12])('%i shards on 6 masters', (shards) => {
  const hot = (limit: number): Policy => ({ ...LASTING, name: `hot-${shards}`, limit: limit * shards, shards });

  it('have one row of one call for all requests of a turn, and the next turn asks the next shard', async () => {
    const policy = hot(1_000_000);
    const turns = 2 * shards;
    const calls = await callsDuring(async () => {
      for (let i = 0; i < turns; i++) {
        expect(await processes.one(0, 'together', { policy, count: 100 })).toMatchObject({ admitted: 100 });
      }
    });
    expect(calls).toEqual(masters.map(() => turns / MASTERS));
  });

  it('are asked together by the requests that one of them rejects: a call for each shard', async () => {
    const calls = await callsDuring(async () => {
      expect(await processes.one(0, 'together', { policy: hot(10), count: 500 })).toEqual({
        admitted: 10 * shards,
        refused: 500 - 10 * shards,
        failed: 0,
      });
    });
    expect(sum(calls)).toBe(shards);
  });

  it('admit exactly the limit, over all processes', async () => {
    const policy = hot(500);
    const counts = await processes.all('load', () => ({ policy, inFlight: 64, forMs: 0, atLeast: 300 * shards }));
    expect(sum(counts.map(({ failed }) => failed))).toBe(0);
    expect(sum(counts.map(({ admitted }) => admitted))).toBe(500 * shards);
  });

  it('admit no more than the limit while their slots move to other masters and back', async () => {
    const policy = hot(1_000);
    const atLeast = (1_000 * shards) / PROCESSES + 500;
    const loads = processes.all('load', () => ({ policy, inFlight: 16, forMs: 2_000, atLeast }));
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < shards; i += shards / 6) {
        const slot = shardSlot(i, shards);
        const from = await cluster.ownerOf(slot);
        const home = masters[Math.floor((slot * MASTERS) / 16_384)]!;
        const to = from === home ? masters[(masters.indexOf(home) + 1) % MASTERS]! : home;
        await cluster.migrateSlot(slot, from, to);
      }
    }
    const counts = await loads;
    const admitted = sum(counts.map((one) => one.admitted));
    expect(admitted).toBeLessThanOrEqual(1_000 * shards);
    // A request that failed may have been charged.
    expect(admitted).toBeGreaterThanOrEqual(1_000 * shards - sum(counts.map(({ failed }) => failed)));
  });
});

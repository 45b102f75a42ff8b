import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { Cluster } from 'ioredis';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { FALLBACK, MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { callsOf, useOneNode } from '../support/faults/by-node.js';
import { type ClusterNode, RedisCluster } from '../support/faults/redis-cluster.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { loadPrograms } from '../support/programs.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { chargesOf, type History, historiesOf, requestsOf } from './histories.js';

const RUNS = histories(0.3);
const NOW = 19_900 * 86_400_000_000 + 123_456;
const clock = (): number => NOW;

describe('three masters, asked by node', () => {
  let cluster: RedisCluster;
  let masters: readonly ClusterNode[];
  let client: Cluster;
  let store: RedisStore;

  beforeAll(async () => {
    cluster = await RedisCluster.start();
    masters = await cluster.masters();
    for (const { client: admin } of masters) await loadPrograms(admin);
    client = new Cluster(cluster.addresses);
    store = new RedisStore(client, { clock, maxSkew: 0 });
    await untilByNode(store, masters);
  });
  afterAll(async () => {
    client.disconnect();
    await cluster.stop();
  });

  const calls = async (): Promise<number> =>
    (await Promise.all(masters.map(({ client: admin }) => callsOf(admin, 'evalsha')))).reduce((sum, one) => sum + one);

  /** Gives the requests to the Cluster in one turn, and to the memory of this process. */
  async function expectAsMemory(requests: readonly Charge[][]): Promise<void> {
    const memory = new MemoryStore({ clock });
    const wanted = requests.map((charges) => memory.consume(charges));
    expectSame(await Promise.all(requests.map((charges) => store.consume(charges))), wanted);
  }

  it.each(ALL_ALGORITHMS)('%s: decide keys of 500 slots in one turn as memory does', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const requests = Array.from({ length: 3_000 }, (_, i) => [
      { key: `${name}:{${(i * 7) % 500}}`, algorithm, cost: 1 + (i % 2) },
    ]);
    const before = await calls();
    await expectAsMemory(requests);
    // 64 rows share a call, and 32 the first ones. By slot it were a call for each of the 500 keys at least.
    expect((await calls()) - before).toBeLessThanOrEqual(Math.ceil(3_000 / 64) + 2 * masters.length);
  });

  it('decide keys of several slots of one node in one step, and those of several nodes in turn', async () => {
    const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });
    const [one, other] = masters as [ClusterNode, ClusterNode];
    const charge = (tag: string): Charge => ({ key: `several:{${tag}}`, algorithm, cost: 1 });
    const [here, there] = [await tagsOf(one), await tagsOf(other)];
    const before = await calls();
    expect((await store.consume([charge(here[0]!), charge(here[1]!)])).allowed).toBe(true);
    expect((await calls()) - before).toBe(1);
    expect((await store.consume([charge(here[2]!), charge(here[1]!)])).allowed).toBe(false);
    expect((await store.consume([charge(there[0]!), charge(here[2]!)])).allowed).toBe(true); // it was not charged
    expect((await store.consume([charge(there[0]!), charge(here[3]!)])).allowed).toBe(false);
  });

  /** Hash tags whose slots a node has. */
  async function tagsOf(node: ClusterNode): Promise<string[]> {
    const tags: string[] = [];
    for (let i = 0; tags.length < 4; i++) if ((await cluster.masterOf(`{t${i}}`)) === node) tags.push(`t${i}`);
    return tags;
  }
});

describe('one truth: a node of a Cluster gives the decisions of memory, field by field', () => {
  const node = useOneNode();
  /** The clock of the history that runs now. */
  let now: () => number = clock;
  const stores = new Map<number, ReturnType<typeof node.open>>();
  let runs = 0;

  /** Gives one history to a node by turns of the event loop, and to the memory of this process. */
  async function giveToNode(history: History): Promise<void> {
    const moving = new MovingClock(history.start, FALLBACK);
    now = moving.read;
    const { maxSkewMs } = history;
    let inTurns = stores.get(maxSkewMs);
    if (inTurns === undefined) stores.set(maxSkewMs, (inTurns = node.open({ clock: () => now(), maxSkew: maxSkewMs })));
    const inMemory = new MemoryStore({ clock: moving.read, maxSkew: maxSkewMs });
    // In every other history, each request is allowed by the first of its charges that it fits.
    const hasAlternatives = runs % 2 === 1;
    const pool = chargesOf(history, `run-${runs++}`).map((charges) =>
      charges.map((charge, i): Charge => ({ ...charge, alternative: hasAlternatives && i > 0 })),
    );
    const first = algorithmOf(history.policies[0]![0]);
    let verdicts: Verdict[] = [];
    for (const turn of history.turns) {
      moving.move(turn.move, first, verdicts);
      const requests = requestsOf(turn, pool);
      const together = requests.map((charges) => inTurns.consume(charges));
      verdicts = requests.map((charges) => inMemory.consume(charges));
      expectSame(await Promise.all(together), verdicts);
    }
  }

  it.each(ALL_ALGORITHMS)(
    '%s',
    async (name) => {
      const before = await callsOf(node.admin, 'get');
      await assert(asyncProperty(historiesOf(name), giveToNode), RUNS);
      expect((await callsOf(node.admin, 'get')) - before).toBeGreaterThanOrEqual(RUNS.numRuns!);
    },
    HISTORY_TIMEOUT_MS,
  );
});

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../../test/support/algorithm-of.js';
import { RateLimitStoreError, type StoreStateChange } from '../../store.js';
import { ClusterNodes } from './cluster-nodes.js';
import { Probe } from '../connection/probe.js';
import type { ClusterMap, ProgramRunner } from '../clients/client.js';
import { ClusterRouting } from './routing.js';
import { Script } from '../batch/script.js';

const SLOTS = 16_384;
const [SICK, WELL] = ['10.0.0.1:6379', '10.0.0.2:6379'];
/** More than a breaker bears. */
const FAILURES = 5;
/** Until a breaker has sent its first probe. */
const PROBE_MS = 300;
const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1h' });

/** The node of each slot: the lower half is sick, and the upper half is well. */
let owners: string[][];
let probed: string[];
let changes: StoreStateChange[];
let warnings: string[];
let failedProbes: number;
let nodes: ClusterNodes;
let routing: ClusterRouting;

beforeEach(() => {
  owners = Array.from({ length: SLOTS }, (_, slot) => [slot < SLOTS / 2 ? SICK : WELL]);
  [probed, changes, warnings, failedProbes] = [[], [], [], 0];
  const run = async (_: string, __: number, [key = '']: readonly string[]): Promise<unknown> => {
    probed.push(key);
    throw new Error('the connection to Redis is closed');
  };
  const runner: ProgramRunner = {
    keyPrefix: '',
    runByHash: run,
    runByText: run,
    failureOf: (error) => error as Error,
  };
  const cluster: ClusterMap = {
    masterOf: (slot) => owners[slot]![0],
    masters: () => new Set(owners.flat()),
    connectionOf: () => undefined,
    onConnection: () => undefined,
    onSlots: () => undefined,
    refresh: () => undefined,
  };
  const script = new Script(runner, { clock: undefined, maxSkew: 0 });
  routing = new ClusterRouting(cluster, '', script);
  const probe = new Probe(script, undefined, (number) => `probe${number}`);
  const log = (line: string): void => void warnings.push(line);
  nodes = new ClusterNodes(cluster, routing, probe, 50, {
    logger: { log, warn: log, error: log },
    observer: { batch: () => undefined, probeFailed: () => failedProbes++ },
    onChange: (change) => changes.push(change),
  });
});

afterEach(() => nodes.close());

/** A key in a slot of the node. */
function keyOf(node: string): string {
  let i = 0;
  while (owners[routing.slotOf(`${i}`)]![0] !== node) i++;
  return `${i}`;
}

function fail(node: string, times: number): RateLimitStoreError {
  const lane = routing.laneOfKey(keyOf(node));
  let failure = new RateLimitStoreError();
  for (let i = 0; i < times; i++) failure = nodes.failed(new RateLimitStoreError('no answer'), lane);
  return failure;
}

const check = (key: string, shardKeys?: readonly string[]): unknown =>
  nodes.check([{ key, algorithm, cost: 1, shardKeys }]);

describe('the nodes of a Cluster', () => {
  it('become unavailable one by one', () => {
    const [sick, well] = [keyOf(SICK), keyOf(WELL)];
    fail(SICK, FAILURES - 1);
    expect([check(sick), check(well)]).toEqual([undefined, undefined]);
    const asked = fail(SICK, 1);
    expect(asked).toMatchObject({ message: `Redis node ${SICK} is unavailable: no answer`, wasAsked: true });
    expect(check(sick)).toMatchObject({ message: `Redis node ${SICK} is unavailable: no answer`, wasAsked: false });
    expect(nodes.checkLane(routing.laneOfKey(sick))).toBeDefined();
    expect([check(well), nodes.checkLane(routing.laneOfKey(well))]).toEqual([undefined, undefined]);
    expect(changes).toEqual([{ available: false, reason: 'no answer', outageMs: 0, node: SICK }]);
    expect(warnings).toHaveLength(1);
  });

  it('are asked for a sharded charge, whose shards may lie elsewhere', () => {
    fail(SICK, FAILURES);
    const key = keyOf(SICK);
    expect(check(key, [key, keyOf(WELL)])).toBeUndefined();
  });

  it('count failures in a row only', () => {
    const lane = routing.laneOfKey(keyOf(SICK));
    for (let i = 0; i < 3; i++) {
      fail(SICK, FAILURES - 1);
      nodes.answered(lane);
    }
    expect(changes).toEqual([]);
  });

  it('are probed with a key of their own, and each failed probe is counted', async () => {
    fail(SICK, FAILURES);
    await delay(PROBE_MS);
    expect(probed.length).toBeGreaterThan(0);
    for (const key of probed) expect(owners[routing.slotOf(key)]).toEqual([SICK]);
    expect(failedProbes).toBe(probed.length);
    expect(changes).toHaveLength(1);
  });

  it('are available again, without a probe, once they have lost all their slots', async () => {
    fail(SICK, FAILURES);
    for (const slot of owners) slot[0] = WELL;
    await delay(PROBE_MS);
    expect(probed).toEqual([]);
    expect(changes.map(({ available }) => available)).toEqual([false, true]);
  });

  it('begin no new probes after the end', async () => {
    nodes.close();
    expect(fail(SICK, FAILURES)).toMatchObject({ message: 'no answer' });
    await delay(PROBE_MS);
    expect([probed, changes]).toEqual([[], []]);
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../../test/support/algorithm-of.js';
import { Batch } from '../batch/batch.js';
import { LEAN } from '../batch/programs.js';
import { type NodeLane, NodeLanes } from './node-lanes.js';
import { NotRunError } from '../batch/not-run-error.js';
import { NodeScript } from './node-script.js';
import type { ConnectionState, RedisConnection } from '../clients/client.js';
import { SLOTS, slotOf } from '../../slots.js';

const NOW = 1_700_000_000_000_000;
const KEY = 'rl:{user:ada}:one';
const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 1 });

/** The keys of each call to the node, and the answers to come; without one, the node decides. */
let calls: string[][];
let answers: unknown[];
let warnings: string[];
/** To that node. */
let connection: RedisConnection & { state: ConnectionState };
let lanes: NodeLanes;
/** The node that has all slots. */
let owner: string;

beforeEach(() => {
  [calls, answers, warnings, owner] = [[], [], [], 'a:1'];
  const run = async (sha1: string, _: number, [first, ...args]: readonly string[]): Promise<unknown> => {
    const keys = [first!, ...args.slice(3 + Number(args[2]))]; // of lua/lean.lua
    const isProbe = sha1 === LEAN.get('fixed-window')!.sha1;
    calls.push(keys);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? [NOW, ...keys.flatMap(() => (isProbe ? [0, 1] : [0]))];
  };
  connection = {
    state: 'ready',
    socket: undefined,
    isProbed: true,
    firstAnswerMs: 0,
    keyPrefix: '',
    runByHash: run,
    runByText: run,
    failureOf: (error) => error as Error,
    onState: () => undefined,
  };
  const log = (line: string): void => void warnings.push(line);
  const cluster = {
    masterOf: () => owner,
    masters: () => new Set([owner]),
    connectionOf: (node: string) => (node === owner ? connection : undefined),
    onConnection: () => undefined,
    onSlots: () => undefined,
    refresh: () => undefined,
  };
  const script = new NodeScript('', { clock: undefined, maxSkew: 0 });
  lanes = new NodeLanes(cluster, { script, keyPrefix: '', logger: { log, warn: log, error: log } });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const lane = (): NodeLane | undefined => lanes.laneOf(slotOf(KEY), KEY);
const replyError = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

function newBatch(): Batch {
  const batch = new Batch();
  const ignore = (): undefined => undefined;
  batch.add({ charges: [{ key: KEY, algorithm, cost: 1 }], resolve: ignore, reject: ignore, next: undefined });
  return batch;
}

describe('the lane of a node', () => {
  it('takes requests once a probe of two slots has succeeded', async () => {
    expect(lane()).toBeUndefined();
    expect(lane()).toBeUndefined(); // no second probe
    await turn();
    expect(calls).toHaveLength(1);
    const [first, second] = calls[0]!;
    expect([first, second].every((key) => key!.startsWith('rl:{'))).toBe(true); // where the user may write
    expect(slotOf(first!)).not.toBe(slotOf(second!));
    expect(lane()?.node).toBe('a:1');
    expect(await lane()!.decide(newBatch())).toEqual([NOW, 0]);
  });

  it.each([
    ['UNDECLARED ERR no permission', 1],
    ['ERR script tried accessing undeclared key', 1],
    ['MOVED 1 b:1', 0],
    ['LOADING Redis is loading', 0],
  ])('takes none after the probe fails with %s, which %i warnings tell', async (message, count) => {
    answers = [replyError(message)];
    lane();
    await turn();
    expect([lane(), warnings.length]).toEqual([undefined, count]);
    expect(calls).toHaveLength(1); // the next probe comes later
  });

  it('takes none while the node says that the keys of the probe lie elsewhere', async () => {
    answers = [[NOW, -3, 0, 1]];
    lane();
    await turn();
    expect(lane()).toBeUndefined();
  });

  it('takes none while the connection is not ready, and after the server begins to forbid undeclared keys', async () => {
    lane();
    await turn();
    const known = lane()!;
    connection.state = 'closed';
    expect(lane()).toBeUndefined();
    await expect(known.decide(newBatch())).rejects.toThrow(NotRunError);
    connection.state = 'ready';
    expect(lane()).toBe(known);
    answers = [replyError('UNDECLARED ERR no permission')];
    await expect(known.decide(newBatch())).rejects.toThrow(NotRunError);
    expect([lane(), warnings.length]).toEqual([undefined, 1]);
  });

  it('is a new one, to be probed again, for a new connection', async () => {
    lane();
    await turn();
    const known = lane()!;
    connection.state = 'ended';
    connection = { ...connection, state: 'ready' };
    expect(lane()).toBeUndefined();
    await turn();
    expect([lane() === known, known.node, lane()?.node]).toEqual([false, undefined, 'a:1']);
    await expect(known.decide(newBatch())).rejects.toThrow(NotRunError);
  });
});

describe('a node that has left the Cluster', () => {
  it('is no lane any more among which requests scatter, whether it took batches or not', async () => {
    lane();
    await turn();
    expect(lanes.count).toBe(1);
    connection.state = 'ended';
    expect(lanes.count).toBe(SLOTS); // none
    connection = { ...connection, state: 'ready' };
    owner = 'b:1';
    answers = [replyError('LOADING Redis is loading')]; // and it leaves before the next probe
    lane();
    await turn();
    connection.state = 'ended';
    connection = { ...connection, state: 'ready' };
    owner = 'c:1';
    lane();
    await turn();
    expect(lane()?.node).toBe('c:1');
    expect(lanes.count).toBe(1);
  });

  it('is forgotten', async () => {
    const known: NodeLane[] = [];
    for (let i = 1; i <= 50; i++) {
      connection.state = 'ended';
      connection = { ...connection, state: 'ready' };
      owner = `a:${i}`;
      lane();
      await turn();
      known.push(lane()!);
    }
    expect(known.flatMap(({ node }) => node ?? [])).toEqual(['a:50']);
  });
});

describe('a batch', () => {
  it.each(['MOVED 1 b:1', 'ASK 1 b:1', 'TRYAGAIN Multiple keys', 'CLUSTERDOWN Hash slot not served'])(
    'has not run after %s',
    async (message) => {
      lane();
      await turn();
      answers = [replyError(message)];
      await expect(lane()!.decide(newBatch())).rejects.toThrow(NotRunError);
    },
  );

  it.each(['Connection is closed.', 'ERR something else', 'OOM command not allowed'])(
    'may have run after %s',
    async (message) => {
      lane();
      await turn();
      answers = [replyError(message)];
      await expect(lane()!.decide(newBatch())).rejects.not.toThrow(NotRunError);
      expect(calls).toHaveLength(2);
    },
  );
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import { Batch } from './batch.js';
import { NodeLanes } from './node-lanes.js';
import { NodeScript, NotRunError, ROW_PROGRAMS } from './node-script.js';
import type { ClusterNodeConnection } from './redis-client.js';
import { SLOTS, slotOf } from './slots.js';

const NOW = 1_700_000_000_000_000;
const KEY = 'rl:{user:ada}:one';
const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 1 });

/** The keys of each call to the node, and the answers to come; without one, the node decides. */
let calls: string[][];
let answers: unknown[];
let warnings: string[];
let connection: { status: string; options: object; evalsha: unknown; stream: { writable: boolean } };
let lanes: NodeLanes;
/** Of all slots. */
let owner: string;

beforeEach(() => {
  [calls, answers, warnings, owner] = [[], [], [], 'a:1'];
  const evalsha = async (script: string, _: number, ...args: string[]): Promise<unknown> => {
    // The probe's two rows go by the program for rows of one policy, and one row of one charge by the lean program.
    const isProbe = script === ROW_PROGRAMS.get('fixed-window')!.sha1;
    const keys = isProbe ? args.slice(0, Number(args.at(-1))) : args.slice(0, 1);
    calls.push(keys);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? [NOW, ...keys.flatMap(() => (isProbe ? [0, 1] : [0]))];
  };
  connection = { status: 'ready', options: { host: 'a', port: 1 }, evalsha, stream: { writable: true } };
  const log = (line: string): void => void warnings.push(line);
  const client = {
    get slots() {
      return Array.from({ length: SLOTS }, () => [owner]);
    },
    nodes: () => [connection as unknown as ClusterNodeConnection],
  };
  const script = new NodeScript('', { clock: undefined, maxSkew: 0, deadlines: undefined });
  lanes = new NodeLanes(client, { script, keyPrefix: '', logger: { log, warn: log, error: log } });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const lane = (): number => lanes.laneOf(slotOf(KEY), KEY);
const replyError = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

function batchOf(number: number): Batch {
  const batch = new Batch(number);
  const ignore = (): undefined => undefined;
  batch.add({ charges: [{ key: KEY, algorithm, cost: 1 }], resolve: ignore, reject: ignore, next: undefined });
  return batch;
}

describe('the lane of a key', () => {
  it('is its slot until a probe of two slots of the node has succeeded, and then that of the node', async () => {
    expect(lane()).toBe(slotOf(KEY));
    expect(lane()).toBe(slotOf(KEY)); // no second probe
    await turn();
    expect(calls).toHaveLength(1);
    const [first, second] = calls[0]!;
    expect([first, second].every((key) => key!.startsWith('rl:{'))).toBe(true); // where the user may write
    expect(slotOf(first!)).not.toBe(slotOf(second!));
    expect(lane()).toBeGreaterThanOrEqual(SLOTS);
    expect(lanes.nodeOf(lane())).toBe('a:1');
    expect(await lanes.decide(batchOf(lane()))).toEqual([NOW, 0]);
  });

  it.each([
    ['UNDECLARED ERR no permission', 1],
    ['ERR script tried accessing undeclared key', 1],
    ['MOVED 1 b:1', 0],
    ['LOADING Redis is loading', 0],
  ])('stays its slot after the probe fails with %s, which %i warnings tell', async (message, count) => {
    answers = [replyError(message)];
    lane();
    await turn();
    expect([lane(), warnings.length]).toEqual([slotOf(KEY), count]);
    expect(calls).toHaveLength(1); // the next probe comes later
  });

  it('stays its slot while the node says that the keys of the probe lie elsewhere', async () => {
    answers = [[NOW, -3, 0, 1]];
    lane();
    await turn();
    expect(lane()).toBe(slotOf(KEY));
  });

  it('is its slot while the connection is not ready, and after the server begins to forbid undeclared keys', async () => {
    lane();
    await turn();
    const number = lane();
    connection.status = 'reconnecting';
    expect(lane()).toBe(slotOf(KEY));
    await expect(lanes.decide(batchOf(number))).rejects.toThrow(NotRunError);
    connection.status = 'ready';
    expect(lane()).toBe(number);
    answers = [replyError('UNDECLARED ERR no permission')];
    await expect(lanes.decide(batchOf(number))).rejects.toThrow(NotRunError);
    expect([lane(), warnings.length]).toEqual([slotOf(KEY), 1]);
  });

  it('is a new one, to be probed again, for a new connection', async () => {
    lane();
    await turn();
    const number = lane();
    connection.status = 'end';
    connection = { ...connection, status: 'ready' };
    expect(lane()).toBe(slotOf(KEY));
    await turn();
    expect([lane() > number, lanes.nodeOf(number), lanes.nodeOf(lane())]).toEqual([true, undefined, 'a:1']);
    await expect(lanes.decide(batchOf(number))).rejects.toThrow(NotRunError);
  });
});

describe('a node that has left the Cluster', () => {
  it('is no lane any more among which requests scatter, whether it took batches or not', async () => {
    lane();
    await turn();
    expect(lanes.count).toBe(1);
    connection.status = 'end';
    expect(lanes.count).toBe(SLOTS); // none
    connection = { ...connection, status: 'ready', options: { host: 'b', port: 1 } };
    owner = 'b:1';
    answers = [replyError('LOADING Redis is loading')]; // and it leaves before the next probe
    lane();
    await turn();
    connection.status = 'end';
    connection = { ...connection, status: 'ready', options: { host: 'c', port: 1 } };
    owner = 'c:1';
    lane();
    await turn();
    expect(lanes.nodeOf(lane())).toBe('c:1');
    expect(lanes.count).toBe(1);
  });

  it('is forgotten', async () => {
    const numbers: number[] = [];
    for (let i = 1; i <= 50; i++) {
      connection.status = 'end';
      connection = { ...connection, status: 'ready', options: { host: 'a', port: i } };
      owner = `a:${i}`;
      lane();
      await turn();
      numbers.push(lane());
    }
    expect(numbers.map((number) => lanes.nodeOf(number)).filter((node) => node !== undefined)).toEqual(['a:50']);
  });
});

describe('a batch', () => {
  it.each(['MOVED 1 b:1', 'ASK 1 b:1', 'TRYAGAIN Multiple keys', 'CLUSTERDOWN Hash slot not served'])(
    'has not run after %s',
    async (message) => {
      lane();
      await turn();
      answers = [replyError(message)];
      await expect(lanes.decide(batchOf(lane()))).rejects.toThrow(NotRunError);
    },
  );

  it.each(['Connection is closed.', 'ERR something else', 'OOM command not allowed'])(
    'may have run after %s',
    async (message) => {
      lane();
      await turn();
      answers = [replyError(message)];
      await expect(lanes.decide(batchOf(lane()))).rejects.not.toThrow(NotRunError);
      expect(calls).toHaveLength(2);
    },
  );
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../../test/support/algorithm-of.js';
import { Deadlines } from '../../deadlines.js';
import { type Charge, RateLimitStoreError, type Verdict } from '../../store.js';
import type { Availability } from './availability.js';
import type { Batch } from './batch.js';
import type { BatchCall, Lane, Routing } from './lane.js';
import { Batcher, type BatcherSettings } from './batcher.js';
import { Linger } from './linger.js';
import { decisionFailure, RedisUnavailableError } from '../connection/redis-failure.js';

const ALWAYS_AVAILABLE: Availability = {
  check: () => undefined,
  checkLane: () => undefined,
  answered: () => undefined,
  failed: decisionFailure,
};

const NOW = 1_700_000_000_000_000;
const POLICY = algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 1 });
/** The reply for a bucket that is full: the instant, and no debt. */
const FULL = [NOW, 0];

/** A batch that was sent, and its answer, which the test gives. */
interface Sent {
  readonly batch: Batch;
  readonly call: BatchCall;
  readonly resolve: (reply: readonly number[]) => void;
  readonly reject: (error: Error) => void;
}

type Answer = Verdict | Error;

let sent: Sent[];
let answers: Answer[];
let ticks: (() => void)[];
let turns: (() => void)[];
let timers: { readonly task: () => void; readonly ms: number }[];

beforeEach(() => {
  sent = [];
  answers = [];
  ticks = [];
  turns = [];
  timers = [];
});

/** A lane of the test's Redis. */
function newLane(node?: string): Lane {
  return {
    node,
    decide: (batch, call) => new Promise((resolve, reject) => sent.push({ batch, call, resolve, reject })),
  };
}

/** A lane for each first letter of a key. */
function lettered(laneCount: number): Routing {
  const lanes = new Map<string, Lane>();
  return {
    laneCount,
    laneOf: ([charge]) => {
      const letter = charge!.key[0]!;
      if (!lanes.has(letter)) lanes.set(letter, newLane(letter));
      return lanes.get(letter)!;
    },
  };
}

/** A batcher whose event loop, and whose Redis, are the test's. */
function batcher(settings: Partial<BatcherSettings> = {}): Batcher {
  const lane = newLane();
  return new Batcher({
    routing: { laneCount: 1, laneOf: () => lane },
    availability: ALWAYS_AVAILABLE,
    settlesLate: false,
    phases: {
      tick: (task) => ticks.push(task),
      turn: (task) => turns.push(task),
      later: (task, ms) => timers.push({ task, ms }),
    },
    ...settings,
  });
}

function ask(to: Batcher, key: string, isUrgent = false): void {
  const charges: Charge[] = [{ key, algorithm: POLICY, cost: 1 }];
  to.add({
    charges,
    next: undefined,
    isUrgent,
    resolve: (verdict) => answers.push(verdict),
    reject: (error) => answers.push(error),
  });
}

function run(tasks: (() => void)[]): void {
  for (const task of tasks.splice(0)) task();
}

/** The microtasks of an answer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function keysOf(batch: Batch): readonly string[] {
  const { keys, args } = batch.encode(undefined, 0);
  return args.slice(0, keys);
}

describe('Batcher', () => {
  it('sends a request that comes alone at the end of the callback', () => {
    ask(batcher(), 'a');
    expect([ticks.length, turns.length, sent.length]).toEqual([1, 0, 0]);
    run(ticks);
    expect(sent.map(({ batch }) => batch.size)).toEqual([1]);
  });

  it('collects until the check phase while a batch is in flight', async () => {
    const all = batcher();
    ask(all, 'a');
    run(ticks);
    ask(all, 'b');
    ask(all, 'c');
    expect([ticks.length, turns.length]).toEqual([0, 1]);
    run(turns);
    expect(sent.map(({ batch }) => batch.size)).toEqual([1, 2]);
    for (const { resolve, batch } of sent) resolve([NOW, ...Array<number>(batch.size).fill(0)]);
    await settled();
    expect(answers).toHaveLength(3);
  });

  it('collects until the check phase after a batch of several requests, and waits no longer after one', async () => {
    const all = batcher();
    ask(all, 'a');
    ask(all, 'b');
    run(ticks);
    sent[0]!.resolve([NOW, 0, 0]);
    await settled();
    ask(all, 'c');
    expect([ticks.length, turns.length]).toEqual([0, 1]);
    run(turns);
    sent[1]!.resolve(FULL);
    await settled();
    ask(all, 'd');
    expect([ticks.length, turns.length]).toEqual([1, 0]);
  });

  it('sends a batch as soon as a request does not fit, and the rest when the turn ends', () => {
    const all = batcher();
    for (let i = 0; i < 32; i++) ask(all, `k${i}`);
    expect(sent).toHaveLength(0);
    ask(all, 'k0'); // it folds into its row
    expect(sent).toHaveLength(0);
    ask(all, 'k32');
    expect(sent.map(({ batch }) => batch.size)).toEqual([33]);
    for (let i = 33; i < 64; i++) ask(all, `k${i}`);
    expect([sent.length, ticks.length, turns.length]).toEqual([1, 1, 0]);
    run(ticks);
    expect(sent.map(({ batch }) => batch.size)).toEqual([33, 32]);
  });

  it('makes batches of twice as many rows where several servers decide requests of the turn', () => {
    const all = batcher({ routing: lettered(2) });
    for (let i = 0; i < 33; i++) ask(all, `a${i}`); // one server until here
    expect(sent.map(({ batch }) => batch.size)).toEqual([32]);
    ask(all, 'b0');
    for (let i = 33; i < 96; i++) ask(all, `a${i}`);
    expect(sent.map(({ batch }) => batch.size)).toEqual([32]);
    ask(all, 'a96');
    expect(sent.map(({ batch }) => batch.size)).toEqual([32, 64]);
    run(ticks);
    expect(sent.map(({ batch }) => keysOf(batch).at(-1))).toEqual(['a31', 'a95', 'a96', 'b0']);
    // In the next turn there is one server again.
    for (let i = 0; i < 33; i++) ask(all, `a${i}`);
    expect(sent.map(({ batch }) => batch.size)).toEqual([32, 64, 1, 1, 32]);
  });

  it('keeps the order of a key that two batches of a turn ask for', () => {
    const all = batcher();
    for (let i = 0; i < 32; i++) ask(all, `k${i}`);
    ask(all, 'other');
    ask(all, 'k0');
    all.flush();
    expect(sent.map(({ batch }) => keysOf(batch).slice(0, 2))).toEqual([
      ['k0', 'k1'],
      ['other', 'k0'],
    ]);
  });

  it('does not wait for the check phase only because a batch of another turn was full', async () => {
    const all = batcher();
    for (let i = 0; i < 33; i++) ask(all, `k${i}`);
    run(ticks);
    for (const { resolve, batch } of sent) resolve([NOW, ...Array<number>(batch.size).fill(0)]);
    await settled();
    ask(all, 'a');
    run(turns);
    sent[2]!.resolve(FULL);
    await settled();
    ask(all, 'b');
    expect([ticks.length, turns.length]).toEqual([1, 0]);
  });

  it('numbers its turns: a full batch that leaves early does not begin a new one', () => {
    const all = batcher();
    for (let i = 0; i < 40; i++) ask(all, `k${i}`);
    expect([sent.length, all.turn]).toEqual([1, 0]);
    run(ticks);
    expect(all.turn).toBe(1);
    all.flush();
    expect(all.turn).toBe(1);
  });

  it('has one batch for each lane', () => {
    const all = batcher({ routing: lettered(3) });
    for (const key of ['a1', 'b1', 'a2', 'b2', 'c1']) ask(all, key);
    run(ticks);
    expect(sent.map(({ batch }) => keysOf(batch))).toEqual([['a1', 'a2'], ['b1', 'b2'], ['c1']]);
  });

  it('sends nothing for a lane that is unavailable', () => {
    const unavailable = new RedisUnavailableError('Redis is unavailable', false);
    ask(batcher({ availability: { ...ALWAYS_AVAILABLE, checkLane: () => unavailable } }), 'a');
    expect(answers).toEqual([unavailable]);
    expect([ticks.length, turns.length]).toEqual([0, 0]);
  });

  it('reports every batch once: answered, failed or late', async () => {
    const reports: string[] = [];
    const availability: Availability = {
      ...ALWAYS_AVAILABLE,
      answered: ({ node }) => reports.push(`answered ${node}`),
      failed: (error, { node }) => {
        reports.push(`failed ${node}: ${error.message}`);
        return new RateLimitStoreError('failed');
      },
    };
    const all = batcher({ availability, routing: lettered(2) });
    ask(all, 'a');
    all.flush();
    ask(all, 'b');
    all.flush();
    sent[0]!.resolve(FULL);
    sent[1]!.reject(new Error('lost'));
    await settled();
    expect(reports).toEqual(['answered a', 'failed b: lost']);
    expect(answers).toEqual([expect.objectContaining({ allowed: true }), new RateLimitStoreError('failed')]);
  });

  describe('when the deadline falls before the answer', () => {
    /** A deadline that the test lets fall. */
    function dueDeadlines(): { deadlines: Deadlines; fall: () => void } {
      let now = 0;
      const tasks: (() => void)[] = [];
      const loop = {
        now: () => now,
        later: (task: () => void) => void tasks.push(task),
        turn: (task: () => void) => void tasks.push(task),
      };
      const fall = (): void => {
        now = 50;
        for (let i = 0; i < 3; i++) run(tasks);
      };
      return { deadlines: new Deadlines(50, loop), fall };
    }

    it.each([
      { settlesLate: false, told: 1 },
      { settlesLate: true, told: 2 },
    ])('fails its requests; tells them of the late answer: $settlesLate', async ({ settlesLate, told }) => {
      const { deadlines, fall } = dueDeadlines();
      const all = batcher({ deadlines, settlesLate });
      ask(all, 'a');
      run(ticks);
      fall();
      expect(answers).toEqual([new RateLimitStoreError('the store gave no answer within 50 ms')]);
      sent[0]!.resolve(FULL);
      await settled();
      expect(answers).toHaveLength(told);
    });

    it('lets its lane send nothing again', () => {
      const { deadlines, fall } = dueDeadlines();
      ask(batcher({ deadlines }), 'a');
      run(ticks);
      const [{ call }] = sent as [Sent];
      expect([call.isLate, call.maySend()]).toEqual([false, true]);
      fall();
      expect([call.isLate, call.maySend()]).toEqual([true, false]);
    });

    it('does not count it as in flight any more', () => {
      const { deadlines, fall } = dueDeadlines();
      const all = batcher({ deadlines });
      ask(all, 'a');
      run(ticks);
      fall();
      ask(all, 'b');
      expect([ticks.length, turns.length]).toEqual([1, 0]);
    });
  });

  describe('with a linger', () => {
    let now: number;
    beforeEach(() => void (now = 0));

    /** A batcher of a pod to which a request comes each millisecond, as `Linger` has seen. */
    function busy(settings: Partial<BatcherSettings> = {}, ms = 4): Batcher {
      const linger = new Linger(ms, () => now);
      for (let i = 0; i < 1_000; i++, now++) linger.left(1);
      return batcher({ linger, ...settings });
    }

    /** Lets the timers of the first `count` waits fire. */
    const fire = (count = timers.length): void => run(timers.splice(0, count).map(({ task }) => task));

    it('waits for the requests of several turns', () => {
      const all = busy();
      ask(all, 'a');
      run(turns);
      ask(all, 'b');
      expect([ticks.length, turns.length, sent.length, timers.map(({ ms }) => ms)]).toEqual([0, 0, 0, [4]]);
      fire();
      expect(sent.map(({ batch }) => batch.size)).toEqual([2]);
    });

    it('does not wait in a quiet pod', () => {
      const linger = new Linger(5, () => now);
      const all = batcher({ linger });
      for (; now < 5_000; now += 100) {
        ask(all, 'a');
        run(ticks);
        run(turns);
        expect([timers.length, sent.length]).toEqual([0, now / 100 + 1]);
      }
    });

    it('leaves when 32 requests wait for each server, at the end of that turn', () => {
      const all = busy();
      ask(all, 'hot');
      run(turns);
      for (let i = 1; i < 32; i++) ask(all, 'hot');
      expect([turns.length, sent.length]).toEqual([1, 0]);
      ask(all, 'hot');
      run(turns);
      expect(sent.map(({ batch }) => batch.size)).toEqual([33]);
      fire(); // late: the batch has left
      expect(sent).toHaveLength(1);
    });

    it('sends a batch that takes no more at once', () => {
      const all = busy();
      for (let i = 0; i < 33; i++) ask(all, `k${i}`);
      expect(sent.map(({ batch }) => batch.size)).toEqual([32]);
    });

    it('lets no timer of an earlier wait end a later one', () => {
      const all = busy();
      ask(all, 'a');
      all.flush(); // as a reset does
      ask(all, 'b');
      run(turns);
      fire(1);
      expect(sent.map(({ batch }) => keysOf(batch))).toEqual([['a']]);
      fire();
      expect(sent.map(({ batch }) => keysOf(batch))).toEqual([['a'], ['b']]);
    });

    it('lets no end of an earlier turn end a wait', async () => {
      const linger = new Linger(4, () => now);
      const all = batcher({ linger });
      ask(all, 'a');
      all.flush();
      for (; now < 1_000; now++) linger.left(1);
      ask(all, 'b');
      run(ticks);
      run(turns);
      expect(sent.map(({ batch }) => keysOf(batch))).toEqual([['a']]);
      fire();
      expect(sent).toHaveLength(2);
    });

    it('lets an urgent request wait for nothing but the end of its turn', () => {
      const all = busy();
      ask(all, 'a');
      run(turns);
      ask(all, 'b', true);
      run(turns);
      expect(sent.map(({ batch }) => batch.size)).toEqual([2]);
      ask(all, 'c', true);
      run(turns);
      expect(sent.map(({ batch }) => batch.size)).toEqual([2, 1]);
    });

    it('does not wait where requests scatter over more lanes than companions are expected', () => {
      const scattered = busy({ routing: lettered(16) });
      ask(scattered, 'a');
      expect([timers.length, ticks.length]).toEqual([0, 1]);
      const gathered = busy({ routing: lettered(3) });
      for (const key of ['a1', 'b1', 'a2']) ask(gathered, key);
      expect(timers).toHaveLength(1);
      fire();
      expect(sent.map(({ batch }) => keysOf(batch))).toEqual([['a1', 'a2'], ['b1']]);
    });

    it('rests after waits in vain: a caller that awaits each answer has no company', async () => {
      const all = busy();
      let waits = 0;
      for (let i = 0; i < 100; i++) {
        ask(all, `k${i}`);
        waits += timers.length;
        now += timers.length > 0 ? 4 : 0.1;
        run(ticks);
        run(turns);
        fire();
        sent.at(-1)!.resolve(FULL);
        await settled();
      }
      expect(waits).toBe(11);
    });

    it('counts the wait in the deadline, and gives Redis all of it after a stall of the event loop', async () => {
      const due: { readonly task: () => void; readonly at: number }[] = [];
      const stalled: (() => void)[] = [];
      const deadlines = new Deadlines(50, {
        now: () => now,
        later: (task, ms) => void due.push({ task, at: now + ms }),
        turn: (task) => void stalled.push(task),
      });
      const all = busy({ deadlines });
      ask(all, 'a');
      const asked = now;
      expect(due.map(({ at }) => at - asked)).toEqual([50]);
      now += 4;
      fire();
      now = asked + 50;
      due.shift()!.task();
      for (let i = 0; i < 2; i++) run(stalled);
      expect(answers).toEqual([new RateLimitStoreError('the store gave no answer within 50 ms')]);

      ask(all, 'b');
      now += 60; // the loop stalls: timers and deadline are overdue alike
      fire();
      due.shift()?.task();
      for (let i = 0; i < 2; i++) run(stalled);
      expect(answers).toHaveLength(1);
      sent[1]!.resolve(FULL);
      await settled();
      expect(answers[1]).toMatchObject({ allowed: true });
    });

    it('is never sent once its deadline has fallen, and does not blame Redis', () => {
      const fails: ((error: RateLimitStoreError) => void)[] = [];
      const blamed: string[] = [];
      const deadlines = new Deadlines(5, {
        now: () => now,
        later: (task) => void fails.push(task),
        turn: (task) => task(),
      });
      const availability: Availability = {
        ...ALWAYS_AVAILABLE,
        failed: (error) => {
          blamed.push(error.message);
          return new RateLimitStoreError('failed');
        },
      };
      const all = busy({ deadlines, availability });
      ask(all, 'a');
      now += 5;
      fails.shift()!(new RateLimitStoreError('too late'));
      fire();
      expect([sent.length, blamed, answers.length]).toEqual([0, [], 1]);
    });
  });
});

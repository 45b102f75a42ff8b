import { beforeEach, describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import { Deadlines } from '../deadlines.js';
import { type Charge, RateLimitStoreError, type Verdict } from '../store.js';
import { ALWAYS_AVAILABLE, type Availability } from './availability.js';
import type { Batch } from './batch.js';
import { Batcher, type BatcherSettings } from './batcher.js';
import { RedisUnavailableError } from './redis-failure.js';

const NOW = 1_700_000_000_000_000;
const POLICY = algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 1 });
/** The reply for a bucket that is full: the instant, and no debt. */
const FULL = [NOW, 0];

/** A batch that was sent, and its answer, which the test gives. */
interface Sent {
  readonly batch: Batch;
  readonly resolve: (reply: readonly number[]) => void;
  readonly reject: (error: Error) => void;
}

type Answer = Verdict | Error;

let sent: Sent[];
let answers: Answer[];
let ticks: (() => void)[];
let turns: (() => void)[];

beforeEach(() => {
  sent = [];
  answers = [];
  ticks = [];
  turns = [];
});

/** A batcher whose event loop, and whose Redis, are the test's. */
function batcher(settings: Partial<BatcherSettings> = {}): Batcher {
  return new Batcher({
    decide: (batch) => new Promise((resolve, reject) => sent.push({ batch, resolve, reject })),
    routing: { laneOf: () => 0, isCrossSlot: () => false },
    availability: ALWAYS_AVAILABLE,
    settlesLate: false,
    phases: { tick: (task) => ticks.push(task), turn: (task) => turns.push(task) },
    ...settings,
  });
}

function ask(to: Batcher, key: string): void {
  const charges: Charge[] = [{ key, algorithm: POLICY, cost: 1 }];
  to.add({
    charges,
    next: undefined,
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

  it('has one batch for each lane', () => {
    const all = batcher({ routing: { laneOf: ([charge]) => charge!.key.charCodeAt(0), isCrossSlot: () => false } });
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
      answered: (lane) => reports.push(`answered ${lane}`),
      failed: (error, lane) => {
        reports.push(`failed ${lane}: ${error.message}`);
        return new RateLimitStoreError('failed');
      },
    };
    const all = batcher({ availability });
    ask(all, 'a');
    all.flush();
    ask(all, 'b');
    all.flush();
    sent[0]!.resolve(FULL);
    sent[1]!.reject(new Error('lost'));
    await settled();
    expect(reports).toEqual(['answered 0', 'failed 0: lost']);
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
});

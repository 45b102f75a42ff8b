import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { histories } from '../../test/support/property-runs.js';
import { MatchingUnavailableError } from './matching.js';
import { WorkerPool, type WorkerPoolOptions } from './worker-pool.js';

const JOB_MS = 100;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const outcome = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof MatchingUnavailableError ? error.reason : error));
const job = <T>(result: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, JOB_MS, result));

describe('WorkerPool', () => {
  it('runs as many jobs at a time as it has workers, in order of arrival', async () => {
    const pool = new WorkerPool({ workers: 2, queue: 10, patienceMs: 5000, serviceMs: JOB_MS, newestFirst: false });
    const done: number[] = [];
    for (let i = 0; i < 5; i++) void pool.run(() => job(i)).then((n) => done.push(n));
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(done).toEqual([0, 1]);
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(done).toEqual([0, 1, 2, 3]);
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(done).toEqual([0, 1, 2, 3, 4]);
  });

  it.each([
    [false, [0, 1, 2, 3, 4, 5, 6, 7]],
    // Four jobs are 400 ms, five are 500 ms.
    [true, [0, 7, 6, 5, 1, 2, 3, 4]],
  ])('serves a queue of more than 400 ms in its order, newest first: %s', async (newestFirst, order) => {
    const pool = new WorkerPool({ workers: 1, queue: 10, patienceMs: 5000, serviceMs: JOB_MS, newestFirst });
    const began: number[] = [];
    for (let i = 0; i < 8; i++) void pool.run(() => (began.push(i), job(i)));
    await jest.runAllTimersAsync();
    expect(began).toEqual(order);
  });

  it.each([
    [false, [1, 2, 3, 'queue full']],
    [true, [1, 'queue full', 3, 4]],
  ])('rejects the newest job or the oldest when the queue is full, newest first: %s', async (newestFirst, expected) => {
    const pool = new WorkerPool({ workers: 1, queue: 2, patienceMs: 5000, serviceMs: JOB_MS, newestFirst });
    const outcomes = Promise.all([1, 2, 3, 4].map((n) => outcome(pool.run(() => job(n)))));
    await jest.runAllTimersAsync();
    expect(await outcomes).toEqual(expected);
  });

  it('rejects all jobs beyond the workers without a queue', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 0, patienceMs: 5000, serviceMs: JOB_MS, newestFirst: false });
    const outcomes = Promise.all([1, 2].map((n) => outcome(pool.run(() => job(n)))));
    await jest.runAllTimersAsync();
    expect(await outcomes).toEqual([1, 'queue full']);
  });

  it('rejects jobs that have waited too long, and never runs them', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 10, patienceMs: 150, serviceMs: JOB_MS, newestFirst: false });
    const ran: number[] = [];
    const outcomes = [1, 2, 3].map((n) => outcome(pool.run(() => (ran.push(n), job(n)))));
    await jest.advanceTimersByTimeAsync(149);
    expect(ran).toEqual([1, 2]);
    await jest.advanceTimersByTimeAsync(1);
    expect(await outcomes[2]).toBe('waited too long');
    await jest.runAllTimersAsync();
    expect(await Promise.all(outcomes)).toEqual([1, 2, 'waited too long']);
    expect(ran).toEqual([1, 2]);
  });

  it('forgets a waiting job at once when its client leaves', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 2, patienceMs: 5000, serviceMs: JOB_MS, newestFirst: false });
    const client = new AbortController();
    const ran: number[] = [];
    const run = (n: number, gone?: AbortSignal): Promise<unknown> =>
      outcome(pool.run(() => (ran.push(n), job(n)), gone));
    const outcomes = [run(1), run(2, client.signal), run(3)];
    client.abort('gone');
    expect(await outcomes[1]).toBe('gone');
    expect(pool.statistics()).toMatchObject({ waiting: 1, total: { asked: 3, unavailable: 0, abandoned: 1 } });
    outcomes.push(run(4), run(5, AbortSignal.abort('gone before')));
    expect(jest.getTimerCount()).toBe(3);
    await jest.runAllTimersAsync();
    expect(await Promise.all(outcomes)).toEqual([1, 'gone', 3, 4, 'gone before']);
    expect(ran).toEqual([1, 3, 4]);
    expect(pool.statistics().total).toMatchObject({ asked: 5, unavailable: 0, abandoned: 2 });
  });

  it('ends a job that has begun when its client leaves', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 2, patienceMs: 5000, serviceMs: JOB_MS, newestFirst: false });
    const client = new AbortController();
    const running = outcome(pool.run(() => job('done'), client.signal));
    client.abort('gone');
    expect(pool.statistics()).toMatchObject({ busy: 1, total: { abandoned: 0 } });
    await jest.runAllTimersAsync();
    expect(await running).toBe('done');
  });

  it('does not count the run time as waiting', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 1, patienceMs: 50, serviceMs: JOB_MS, newestFirst: false });
    const result = outcome(pool.run(() => job('done')));
    await jest.runAllTimersAsync();
    expect(await result).toBe('done');
  });

  it('gets its worker back from a job that fails', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 1, patienceMs: 50, serviceMs: JOB_MS, newestFirst: false });
    const failure = new Error('no');
    expect(await outcome(pool.run(() => Promise.reject(failure)))).toBe(failure);
    expect(await outcome(pool.run(async () => 'next'))).toBe('next');
  });

  it('rejects waiting and later jobs on close, and waits for running ones', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 10, patienceMs: 5000, serviceMs: JOB_MS, newestFirst: false });
    const [working, waiting] = [outcome(pool.run(() => job('done'))), outcome(pool.run(() => job('never')))];
    let closed = false;
    void pool.close().then(() => (closed = true));
    expect(await waiting).toBe('shutting down');
    expect(await outcome(pool.run(() => job('never')))).toBe('shutting down');
    expect(closed).toBe(false);
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(await working).toBe('done');
    expect(closed).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('closes at once when no job runs, and twice', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 1, patienceMs: 50, serviceMs: JOB_MS, newestFirst: false });
    await pool.close();
    await expect(pool.close()).resolves.toBeUndefined();
  });

  it('does what a plain list of jobs does, in any history', async () => {
    const options = fc.record({
      workers: fc.integer({ min: 1, max: 3 }),
      queue: fc.nat(8),
      patienceMs: fc.integer({ min: 1, max: 300 }),
      serviceMs: fc.integer({ min: 40, max: 400 }),
      newestFirst: fc.boolean(),
    });
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ does: fc.constant('arrives' as const), nth: fc.nat(9) }) },
      { weight: 3, arbitrary: fc.record({ does: fc.constantFrom('ends', 'fails', 'leaves'), nth: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ does: fc.constant('passes'), nth: fc.nat(200) }) },
      { weight: 1, arbitrary: fc.record({ does: fc.constant('arrives gone'), nth: fc.constant(0) }) },
    );
    await fc.assert(
      fc.asyncProperty(options, fc.array(step, { maxLength: 60 }), async (limits, steps) => {
        const pool = new WorkerPool(limits);
        const oracle = new Oracle(limits);
        const clients: AbortController[] = [];
        const ends = new Map<number, () => void>();
        const fails = new Map<number, () => void>();
        const began: number[] = [];
        const outcomes: Record<number, unknown> = {};
        for (const { does, nth } of steps) {
          const id = clients.length;
          if (does === 'arrives' || does === 'arrives gone') {
            const client = new AbortController();
            clients.push(client);
            if (does === 'arrives gone') client.abort('gone');
            const run = pool.run(() => {
              began.push(id);
              return new Promise((resolve, reject) => {
                ends.set(id, () => resolve('done'));
                fails.set(id, () => reject('failed'));
              });
            }, client.signal);
            void outcome(run).then((result) => (outcomes[id] = result));
            oracle.arrives(id, client.signal.aborted);
          } else if (does === 'passes') {
            await jest.advanceTimersByTimeAsync(nth);
            oracle.passes(nth);
          } else if (does === 'leaves') {
            // Anybody may leave: who waits, whose job runs, and who has their answer.
            if (id > 0) clients[nth % id]!.abort('gone');
            if (id > 0) oracle.leaves(nth % id);
          } else if (oracle.running.length > 0) {
            const running = oracle.running[nth % oracle.running.length]!;
            (does === 'ends' ? ends : fails).get(running)!();
            oracle.ends(running, does === 'ends' ? 'done' : 'failed');
          }
          await jest.advanceTimersByTimeAsync(0);
          expect({ began, outcomes }).toEqual({ began: oracle.began, outcomes: oracle.outcomes });
          const { busy, waiting, total } = pool.statistics();
          expect({ busy, waiting }).toEqual({ busy: oracle.running.length, waiting: oracle.waiting.length });
          expect(waiting === 0 || busy === limits.workers).toBe(true);
          expect(total.asked).toBe(began.length + waiting + total.unavailable + total.abandoned);
          // A job takes no timer but that of its patience.
          expect(jest.getTimerCount()).toBe(waiting);
        }
        const closing = pool.close();
        await jest.advanceTimersByTimeAsync(0);
        for (const running of oracle.running) ends.get(running)!();
        await closing;
        await jest.advanceTimersByTimeAsync(0);
        expect(Object.keys(outcomes)).toHaveLength(clients.length);
        expect(jest.getTimerCount()).toBe(0);
      }),
      histories(),
    );
  });
});

/** The pool as a list that is searched: slow, and short enough to read. */
class Oracle {
  readonly began: number[] = [];
  readonly outcomes: Record<number, unknown> = {};
  running: number[] = [];
  waiting: { readonly id: number; readonly until: number }[] = [];
  private now = 0;

  constructor(private readonly limits: WorkerPoolOptions) {}

  arrives(id: number, isGone: boolean): void {
    const { workers, queue, patienceMs, newestFirst } = this.limits;
    if (isGone) this.outcomes[id] = 'gone';
    else if (this.running.length < workers) this.begins(id);
    else if (queue === 0 || (!newestFirst && this.waiting.length === queue)) this.outcomes[id] = 'queue full';
    else {
      if (this.waiting.length === queue) this.outcomes[this.waiting.shift()!.id] = 'queue full';
      this.waiting.push({ id, until: this.now + patienceMs });
    }
  }

  ends(id: number, result: string): void {
    const { workers, serviceMs, newestFirst } = this.limits;
    this.outcomes[id] = result;
    this.running = this.running.filter((other) => other !== id);
    const isLong = newestFirst && this.waiting.length * serviceMs > 400 * workers;
    const next = isLong ? this.waiting.pop() : this.waiting.shift();
    if (next !== undefined) this.begins(next.id);
  }

  leaves(id: number): void {
    if (!this.waiting.some((each) => each.id === id)) return;
    this.outcomes[id] = 'gone';
    this.waiting = this.waiting.filter((each) => each.id !== id);
  }

  passes(ms: number): void {
    this.now += ms;
    for (const { id } of this.waiting.filter(({ until }) => until <= this.now)) this.outcomes[id] = 'waited too long';
    this.waiting = this.waiting.filter(({ until }) => until > this.now);
  }

  private begins(id: number): void {
    this.running.push(id);
    this.began.push(id);
  }
}

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { MatchingUnavailableError } from './matching.js';
import { WorkerPool } from './worker-pool.js';

const JOB_MS = 100;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const outcome = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof MatchingUnavailableError ? error.reason : error));
const job = <T>(result: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, JOB_MS, result));

describe('WorkerPool', () => {
  it('runs as many jobs at a time as it has workers, in order of arrival', async () => {
    const pool = new WorkerPool({ workers: 2, queue: 10, patienceMs: 5000 });
    const done: number[] = [];
    for (let i = 0; i < 5; i++) void pool.run(() => job(i)).then((n) => done.push(n));
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(done).toEqual([0, 1]);
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(done).toEqual([0, 1, 2, 3]);
    await jest.advanceTimersByTimeAsync(JOB_MS);
    expect(done).toEqual([0, 1, 2, 3, 4]);
  });

  it('rejects jobs at once when the queue is full', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 2, patienceMs: 5000 });
    const outcomes = Promise.all([1, 2, 3, 4].map((n) => outcome(pool.run(() => job(n)))));
    await jest.runAllTimersAsync();
    expect(await outcomes).toEqual([1, 2, 3, 'queue full']);
  });

  it('rejects all jobs beyond the workers without a queue', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 0, patienceMs: 5000 });
    const outcomes = Promise.all([1, 2].map((n) => outcome(pool.run(() => job(n)))));
    await jest.runAllTimersAsync();
    expect(await outcomes).toEqual([1, 'queue full']);
  });

  it('rejects jobs that have waited too long, and never runs them', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 10, patienceMs: 150 });
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

  it('does not count the run time as waiting', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 1, patienceMs: 50 });
    const result = outcome(pool.run(() => job('done')));
    await jest.runAllTimersAsync();
    expect(await result).toBe('done');
  });

  it('gets its worker back from a job that fails', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 1, patienceMs: 50 });
    const failure = new Error('no');
    expect(await outcome(pool.run(() => Promise.reject(failure)))).toBe(failure);
    expect(await outcome(pool.run(async () => 'next'))).toBe('next');
  });

  it('rejects waiting and later jobs on close, and waits for running ones', async () => {
    const pool = new WorkerPool({ workers: 1, queue: 10, patienceMs: 5000 });
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
    const pool = new WorkerPool({ workers: 1, queue: 1, patienceMs: 50 });
    await pool.close();
    await expect(pool.close()).resolves.toBeUndefined();
  });

  it('answers every job of any history within its workers, its queue and its patience', async () => {
    const arrivals = fc.array(fc.record({ afterMs: fc.nat(60), takesMs: fc.nat(200) }), { maxLength: 60 });
    const options = fc.record({
      workers: fc.integer({ min: 1, max: 4 }),
      queue: fc.nat(8),
      patienceMs: fc.integer({ min: 1, max: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(options, arrivals, async (limits, jobs) => {
        const pool = new WorkerPool(limits);
        const outcomes: Promise<unknown>[] = [];
        let working = 0;
        for (const { afterMs, takesMs } of jobs) {
          await jest.advanceTimersByTimeAsync(afterMs);
          const arrivedAt = Date.now();
          const run = pool.run(async () => {
            expect(++working).toBeLessThanOrEqual(limits.workers);
            expect(Date.now() - arrivedAt).toBeLessThanOrEqual(limits.patienceMs);
            await new Promise((resolve) => setTimeout(resolve, takesMs));
            working--;
            return 'done';
          });
          outcomes.push(outcome(run));
        }
        await jest.runAllTimersAsync();
        for (const each of await Promise.all(outcomes)) {
          expect(['done', 'queue full', 'waited too long']).toContain(each);
        }
        expect({ working, timers: jest.getTimerCount() }).toEqual({ working: 0, timers: 0 });
      }),
    );
  });
});

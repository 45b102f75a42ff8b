import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { ownTimers } from '../../test/support/own-timers.js';
import { histories } from '../../test/support/property-runs.js';
import { MatchingUnavailableError } from './matching.js';
import { WorkerPool, type WorkerPoolOptions } from './worker-pool.js';

let timers: () => number;
beforeEach(() => {
  jest.useFakeTimers();
  timers = ownTimers('worker-pool.ts');
});
afterEach(() => void jest.useRealTimers());

const outcome = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof MatchingUnavailableError ? error.reason : error));

describe('WorkerPool', () => {
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
          expect(timers()).toBe(waiting);
        }
        const closing = pool.close();
        await jest.advanceTimersByTimeAsync(0);
        for (const running of oracle.running) ends.get(running)!();
        await closing;
        await jest.advanceTimersByTimeAsync(0);
        expect(Object.keys(outcomes)).toHaveLength(clients.length);
        expect(timers()).toBe(0);
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

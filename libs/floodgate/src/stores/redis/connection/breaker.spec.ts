import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, property } from 'fast-check';
import { Breaker } from './breaker.js';

/** A breaker with the test's time and probes. */
class Bench {
  readonly changes: string[] = [];
  readonly pauses: number[] = [];
  probes = 0;
  private task: (() => void) | undefined;
  private answer: ((healthy: boolean) => void) | undefined;
  readonly breaker: Breaker;

  constructor(random = 0) {
    this.breaker = new Breaker({
      probe: () => {
        this.probes++;
        return new Promise<void>((resolve, reject) => {
          this.answer = (healthy) => (healthy ? resolve() : reject(new Error('lost')));
        });
      },
      changed: (open, reason) => this.changes.push(open ? `open: ${reason}` : 'closed'),
      schedule: (task, ms) => {
        this.pauses.push(ms);
        this.task = task;
        return () => (this.task = undefined);
      },
      random: () => random,
    });
  }

  get waiting(): boolean {
    return this.task !== undefined;
  }

  get probing(): boolean {
    return this.answer !== undefined;
  }

  fail(times: number): void {
    for (let i = 0; i < times; i++) this.breaker.failed('timeout');
  }

  /** The pause ends. */
  wake(): void {
    const { task } = this;
    this.task = undefined;
    task?.();
  }

  /** The probe is answered. */
  async answered(healthy: boolean): Promise<void> {
    const { answer } = this;
    this.answer = undefined;
    answer?.(healthy);
    await new Promise(setImmediate);
  }
}

describe('Breaker', () => {
  it('opens at the fifth failure in a row, and reports the reason', () => {
    const bench = new Bench();
    bench.fail(4);
    expect(bench.breaker.open).toBe(false);
    bench.breaker.succeeded();
    bench.fail(4);
    expect(bench.breaker.open).toBe(false);
    bench.breaker.failed('the last');
    expect(bench.breaker.open).toBe(true);
    bench.fail(10);
    expect(bench.changes).toEqual(['open: the last']);
  });

  it.each([
    [0, [250, 375, 400, 400]],
    [1, [200, 300, 320, 320]],
  ])('probes after 250 ms, then less often, at least every 400 ms (chance %d)', async (random, pauses) => {
    const bench = new Bench(random);
    bench.breaker.trip('lost');
    for (let i = 0; i < 3; i++) {
      bench.wake();
      await bench.answered(false);
    }
    expect(bench.pauses.map(Math.round)).toEqual(pauses);
    expect(bench.breaker.open).toBe(true);
  });

  it('closes only when a probe succeeds, and begins anew with the next outage', async () => {
    const bench = new Bench();
    bench.fail(5);
    bench.breaker.succeeded(); // the answer to a batch from before
    expect(bench.breaker.open).toBe(true);
    bench.wake();
    expect(bench.breaker.open).toBe(true);
    await bench.answered(true);
    expect(bench.breaker.open).toBe(false);
    bench.fail(4);
    expect(bench.breaker.open).toBe(false);
    bench.fail(1);
    expect(bench.changes).toEqual(['open: timeout', 'closed', 'open: timeout']);
    expect(bench.pauses).toEqual([250, 250]);
  });

  it('has one probe or one pause at most, and can leave every state', async () => {
    const step = constantFrom('fail', 'succeed', 'trip', 'wake', 'now', 'yes', 'no');
    assert(
      property(array(step, { maxLength: 40 }), (steps) => {
        const bench = new Bench();
        for (const one of steps) {
          if (one === 'fail') bench.fail(1);
          if (one === 'succeed') bench.breaker.succeeded();
          if (one === 'trip') bench.breaker.trip('lost');
          if (one === 'wake') bench.wake();
          if (one === 'now') bench.breaker.probeNow();
          // An open breaker has a pause or a probe; a closed one has neither.
          expect([bench.waiting, bench.probing].filter(Boolean)).toHaveLength(bench.breaker.open ? 1 : 0);
        }
      }),
    );
    // An answer takes a turn of the promise queue, so its effects are checked here.
    const bench = new Bench();
    for (const healthy of [false, true, false, false, true]) {
      bench.breaker.trip('lost');
      bench.wake();
      await bench.answered(healthy);
      expect([bench.waiting, bench.probing]).toEqual([!healthy, false]);
      expect(bench.breaker.open).toBe(!healthy);
    }
  });
});

import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, property } from 'fast-check';
import { Breaker } from './breaker.js';

/** A breaker whose time and probes are the test's. */
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
          this.answer = (healthy) => (healthy ? resolve() : reject(new Error('away')));
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

describe('a breaker', () => {
  it('opens at the fifth failure in a row, and says why', () => {
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

  it('opens at once when it is told to', () => {
    const bench = new Bench();
    bench.breaker.trip('the connection was closed');
    expect(bench.changes).toEqual(['open: the connection was closed']);
  });

  it.each([
    [0, [250, 375, 400, 400]],
    [1, [200, 300, 320, 320]],
  ])('probes after 250 ms, then more seldom, never later than after 400 (chance %d)', async (random, pauses) => {
    const bench = new Bench(random);
    bench.breaker.trip('away');
    for (let i = 0; i < 3; i++) {
      bench.wake();
      await bench.answered(false);
    }
    expect(bench.pauses.map(Math.round)).toEqual(pauses);
    expect(bench.breaker.open).toBe(true);
  });

  it('closes when a probe is answered, and only then; the next outage begins anew', async () => {
    const bench = new Bench();
    bench.fail(5);
    bench.breaker.succeeded(); // an answer to a question from before
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

  it('does not wait for the pause when there is reason to think that Redis is back', async () => {
    const bench = new Bench();
    bench.breaker.probeNow();
    expect(bench.probes).toBe(0); // nothing is wrong
    bench.breaker.trip('away');
    bench.breaker.probeNow();
    expect([bench.probes, bench.waiting]).toEqual([1, false]);
    await bench.answered(true);
    expect(bench.breaker.open).toBe(false);
  });

  it('has one probe under way at most, one pause at most, and in every state knows how to leave it', async () => {
    const step = constantFrom('fail', 'succeed', 'trip', 'wake', 'now', 'yes', 'no');
    assert(
      property(array(step, { maxLength: 40 }), (steps) => {
        const bench = new Bench();
        for (const one of steps) {
          if (one === 'fail') bench.fail(1);
          if (one === 'succeed') bench.breaker.succeeded();
          if (one === 'trip') bench.breaker.trip('away');
          if (one === 'wake') bench.wake();
          if (one === 'now') bench.breaker.probeNow();
          // Either a pause or a probe leads on; closed, nothing is under way.
          expect([bench.waiting, bench.probing].filter(Boolean)).toHaveLength(bench.breaker.open ? 1 : 0);
        }
      }),
    );
    // As an answer takes a turn of the promise queue, what it leads to is told here.
    const bench = new Bench();
    for (const healthy of [false, true, false, false, true]) {
      bench.breaker.trip('away');
      bench.wake();
      await bench.answered(healthy);
      expect([bench.waiting, bench.probing]).toEqual([!healthy, false]);
      expect(bench.breaker.open).toBe(!healthy);
    }
  });

  it('is still once it was closed for good', async () => {
    const bench = new Bench();
    bench.breaker.trip('away');
    bench.wake();
    bench.breaker.close();
    await bench.answered(false);
    bench.breaker.trip('away');
    bench.breaker.probeNow();
    expect([bench.probes, bench.waiting, bench.changes.length]).toEqual([1, false, 1]);
  });
});

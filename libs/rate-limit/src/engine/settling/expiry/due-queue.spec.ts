import { expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { VirtualClock } from '../../../testing/virtual-clock.js';
import { DueQueue } from './due-queue.js';

class Entry {
  expired: number[] = [];

  constructor(
    readonly dueAtMs: number,
    private readonly clock: VirtualClock,
  ) {}

  expire(): void {
    this.expired.push(this.clock.nowMs);
  }
}

it('runs each entry once, at its instant, with one timer, whatever is added and removed', () => {
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 0, max: 20 }) }),
    fc.record({ remove: fc.nat(30) }),
    fc.record({ pass: fc.integer({ min: 1, max: 10 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = new VirtualClock();
      let timers = 0;
      const queue = new DueQueue(
        (ms, task) => {
          timers++;
          const cancel = clock.timer(ms, () => (timers--, task()), true);
          return () => (timers--, cancel());
        },
        () => clock.nowMs,
      );
      const entries: Entry[] = [];
      const removed = new Set<Entry>();
      for (const one of steps) {
        if ('add' in one) {
          entries.push(new Entry(clock.nowMs + one.add, clock));
          queue.add(entries.at(-1)!);
        } else if ('remove' in one) {
          const entry = entries[one.remove];
          if (entry === undefined) continue;
          queue.remove(entry);
          if (entry.expired.length === 0) removed.add(entry);
        } else {
          clock.advance(one.pass);
        }
        expect(timers).toBeLessThanOrEqual(1);
      }
      clock.advance(30);
      for (const entry of entries) expect(entry.expired).toEqual(removed.has(entry) ? [] : [entry.dueAtMs]);
      expect([queue.size, timers]).toEqual([0, 0]);
    }),
  );
});

it('keeps 100,000 entries, and no process alive', () => {
  const unref = jest.spyOn(setTimeout(() => undefined, 0).constructor.prototype as NodeJS.Timeout, 'unref');
  const queue = new DueQueue();
  const add = (): boolean => queue.add({ dueAtMs: performance.now() + 60_000, expire: () => undefined });
  const added = Array.from({ length: 100_001 }, add);
  expect([added.indexOf(false), queue.size, queue.isFull]).toEqual([100_000, 100_000, true]);
  expect(unref).toHaveBeenCalled();
  queue.clear();
  expect(queue.size).toBe(0);
  unref.mockRestore();
});

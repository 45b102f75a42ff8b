import { expect, it, jest } from '@jest/globals';
import { DueQueue } from './due-queue.js';

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

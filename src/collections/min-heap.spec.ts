import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { MinHeap } from './min-heap.js';

it('gives the smallest key first, whatever was pushed and popped before', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 20 }))), (steps) => {
      const heap = new MinHeap<{ key: number }>();
      const model: number[] = [];
      for (const key of steps) {
        const [smallest] = model;
        const popped = key === null ? heap.pop() : undefined;
        expect(popped?.key).toBe(key === null ? smallest : undefined);
        if (key === null) model.shift();
        else {
          heap.push(key, { key });
          model.push(key);
          model.sort((a, b) => a - b);
        }
        expect([heap.size, heap.firstKey, heap.first?.key]).toEqual([model.length, model[0] ?? Infinity, model[0]]);
      }
    }),
  );
});

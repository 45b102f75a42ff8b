import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { keyedQueue } from './keyed-queue.js';

it('gives the smallest key first, whatever was pushed and popped before', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 20 }))), (steps) => {
      const queue = keyedQueue<{ key: number }>();
      const model: number[] = [];
      for (const key of steps) {
        const [smallest] = model;
        const popped = key === null ? queue.pop()?.item : undefined;
        expect(popped?.key).toBe(key === null ? smallest : undefined);
        if (key === null) model.shift();
        else {
          queue.push({ key, item: { key } });
          model.push(key);
          model.sort((a, b) => a - b);
        }
        const first = queue.peek();
        expect([queue.length, first?.key, first?.item.key]).toEqual([model.length, model[0], model[0]]);
      }
    }),
  );
});

import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { LinkedQueue, type Place } from './linked-queue.js';

it('holds what an array holds, wherever items leave', () => {
  const step = fc.oneof(fc.constant('add' as const), fc.nat(20));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const queue = new LinkedQueue<number>();
      const places: Place<number>[] = [];
      for (const [item, each] of steps.entries()) {
        if (each === 'add') places.push(queue.add(item));
        else if (places.length > 0) queue.remove(places.splice(each % places.length, 1)[0]!);
        const { size, oldest, newest } = queue;
        expect({ size, oldest, newest }).toEqual({
          size: places.length,
          oldest: places[0]?.item,
          newest: places.at(-1)?.item,
        });
      }
    }),
  );
});

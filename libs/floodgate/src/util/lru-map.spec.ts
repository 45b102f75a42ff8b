import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { expectSame } from '../../../../test/support/expect-same.js';
import { histories } from '../../../../test/support/property-runs.js';
import { LruMap } from './lru-map.js';

/** The same, with the entries in an array: the one that was used last at its end. */
class Model {
  entries: [key: string, value: number][] = [];

  constructor(
    private readonly maxSize: number,
    private readonly maxWeight: number,
  ) {}

  get(key: string): number | undefined {
    const found = this.entries.find(([name]) => name === key);
    if (found !== undefined) this.entries = [...this.entries.filter((entry) => entry !== found), found];
    return found?.[1];
  }

  set(key: string, value: number): void {
    this.delete(key);
    this.entries.push([key, value]);
    const weight = (): number => this.entries.reduce((sum, [, one]) => sum + one, 0);
    while (this.entries.length > this.maxSize || weight() > this.maxWeight) this.entries.shift();
  }

  delete(key: string): void {
    this.entries = this.entries.filter(([name]) => name !== key);
  }
}

const KEY = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const OPERATION = fc.oneof(
  fc.record({ name: fc.constant('get' as const), key: KEY }),
  fc.record({ name: fc.constant('set' as const), key: KEY, value: fc.nat(6) }),
  fc.record({ name: fc.constant('delete' as const), key: KEY }),
);

type Operation = { name: 'get' | 'delete'; key: string } | { name: 'set'; key: string; value: number };

function applied(map: LruMap<number> | Model, operation: Operation): number | undefined {
  if (operation.name === 'get') return map.get(operation.key);
  if (operation.name === 'set') map.set(operation.key, operation.value);
  else map.delete(operation.key);
  return undefined;
}

it('keeps what was used last, within its bounds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.nat(12), fc.array(OPERATION), (maxSize, maxWeight, operations) => {
      const map = new LruMap<number>(maxSize, { max: maxWeight, of: (value) => value });
      const model = new Model(maxSize, maxWeight);
      for (const operation of operations) {
        expectSame([applied(map, operation), map.size], [applied(model, operation), model.entries.length]);
      }
      // Each key is asked in the model's order, which leaves the order of the rest as it is.
      expect(model.entries.map(([key]) => map.get(key))).toEqual(model.entries.map(([, value]) => value));
    }),
    histories(10),
  );
});

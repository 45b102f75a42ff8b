import { expect, it } from '@jest/globals';
import { batchCost } from './position-batch.js';

const positions = (count: number): object[] =>
  Array.from({ length: count }, () => ({ driver_id: 'd1', lat: 0, lng: 0 }));

it.each([
  ['one position', { driver_id: 'd1', lat: 0, lng: 0 }, 1],
  ['a batch', positions(30), 30],
  ['the largest batch', positions(500), 500],
  ['a batch that is too large', positions(501), 500],
  ['an empty batch', [], 1],
  ['no body', undefined, 1],
  ['null', null, 1],
  ['an object that claims a length', { length: 1e9 }, 1],
  ['text', 'x'.repeat(1000), 1],
])('%s costs what it brings', (_, body, cost) => {
  expect(batchCost({ headers: {}, body })).toBe(cost);
});

import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';

/** Expects strictly equal values, like `toStrictEqual`. It is fast for equal values, for properties that compare often. */
export function expectSame(actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual).toStrictEqual(wanted);
}

/** Fails with a description unless `holds`. `expect` itself is too slow for an inner loop. */
export function expectHolds(holds: boolean, about: () => object): void {
  if (!holds) expect({ ...about(), holds }).toStrictEqual({ holds: true });
}

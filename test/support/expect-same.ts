import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';

/** As `expect(actual).toStrictEqual(wanted)`, and quick where it holds: for properties that compare often. */
export function expectSame(actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual).toStrictEqual(wanted);
}

/** Fails unless `holds`, and shows what it was about; `expect` itself is too slow to ask in an inner loop. */
export function expectHolds(holds: boolean, about: () => object): void {
  if (!holds) expect({ ...about(), holds }).toStrictEqual({ holds: true });
}

import { expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import * as fc from 'fast-check';
import { anyText } from '../../../../test/support/any-text.js';
import { expectSame } from '../../../../test/support/expect-same.js';
import { slotOf } from './slots.js';

const characters = fc.string({ unit: fc.constantFrom('{', '}', 'a', 'B', ':', '~', '\0', 'é', '語', '😀') });

it('is the slot that ioredis takes for a key', () => {
  // The package looks for the end of empty braces further on, where Redis takes the whole key.
  const keys = fc
    .oneof(
      characters,
      anyText().map((text) => text.replaceAll(/\p{Surrogate}/gu, '')),
    )
    .filter((key) => !key.includes('{}'));
  fc.assert(
    fc.property(keys, (key) => expectSame(slotOf(key), calculateSlot(key))),
    { numRuns: 2000 },
  );
});

it.each([
  ['123456789', 0x31c3],
  // By CLUSTER KEYSLOT.
  ['{}}', 14_790],
  ['foo{}{bar}', 8_363],
])('is that of the specification: %s', (key, slot) => {
  expect(slotOf(key)).toBe(slot);
});

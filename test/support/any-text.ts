import { type Arbitrary, array, integer, oneof } from 'fast-check';

const units = oneof(integer({ min: 0x20, max: 0x7e }), integer({ min: 0, max: 0x10_ffff }));

/** Texts of any code points, also of those that no text should have. (The first `unit: 'binary'` of a process takes fast-check seconds.) */
export const anyText = (maxLength = 10): Arbitrary<string> =>
  array(units, { maxLength }).map((codes) => String.fromCodePoint(...codes));

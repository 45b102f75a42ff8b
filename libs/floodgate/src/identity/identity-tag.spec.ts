import { describe, expect, it } from '@jest/globals';
import { escape, identityTag, MAX_TAG_BYTES } from './identity-tag.js';

/** Escapes as the keys in Redis do, by an independent definition. */
const slowly = (text: string): string =>
  text.replace(/[^ !"$&-9;-z|~]/g, (unit) => {
    const code = unit.charCodeAt(0).toString(16).toUpperCase();
    return code.length <= 2 ? `%${code.padStart(2, '0')}` : `%u${code.padStart(4, '0')}`;
  });

it('escapes each UTF-16 code unit as before', () => {
  for (let code = 0; code < 65_536; code++) {
    const text = `a${String.fromCharCode(code)}${String.fromCharCode(code)}b`;
    if (escape(text) !== slowly(text)) throw new Error(`unit ${code}`);
  }
  expect(escape('rider-1')).toBe('rider-1');
  expect(escape('a:b{c}#')).toBe('a%3Ab%7Bc%7D%23');
});

describe('an identity of any length', () => {
  it.each([16_384, 16_385, 100_000, 2_000_000])('has one tag, and no other has it: %i characters', (length) => {
    const values = ['a', 'é', '€', '\uD800', '%E9'].map((letter) => letter.repeat(length).slice(0, length));
    const more = values.map((value) => `${value}a`);
    const tags = [...values, ...more].map((value) => identityTag({ kind: 'tenant', value }));
    expect(new Set(tags).size).toBe(tags.length);
    for (const tag of tags) expect(tag.length).toBeLessThanOrEqual(MAX_TAG_BYTES);
    expect(identityTag({ kind: 'tenant', value: values[2]! })).toBe(tags[2]);
  });

  it('that is long is no escape of a short one', () => {
    const short = identityTag({ kind: 'tenant', value: 'é'.repeat(12_000) });
    // The bytes of this text's units are those of the short one's escapes.
    const bytes = Buffer.from('%E9'.repeat(12_000), 'latin1');
    const long = bytes.toString('utf16le');
    expect(long.length).toBeGreaterThan(16_384);
    expect(identityTag({ kind: 'tenant', value: long })).not.toBe(short);
  });

  // Where the time grew with the square of the length, the test would time out.
  it('takes a time that grows with its length at most', () => {
    expect(identityTag({ kind: 'tenant', value: 'é€'.repeat(2_500_000) }).length).toBeLessThanOrEqual(MAX_TAG_BYTES);
  });
});

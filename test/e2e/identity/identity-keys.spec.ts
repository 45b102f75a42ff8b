import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Identity, identityTag } from 'nestjs-floodgate';
import { keyOf, keyTail } from '../../../libs/floodgate/src/policy/key.js';
import { parsePolicy } from '../../../libs/floodgate/src/policy/parse-policy.js';
import { RateLimitConfigError } from '../../../libs/floodgate/src/util/config-error.js';

/** Any UTF-16 text, often nearly equal to another one. Contains lone surrogates and the characters with a meaning in keys. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.array(fc.integer({ min: 0xd800, max: 0xdfff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)),
  fc.string({ unit: fc.constantFrom('{', '}', ':', '#', '%', '3', 'A', 'a', 'u', '0', '\u00e4', '\n'), maxLength: 70 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);
const kind = fc.oneof(
  fc.constantFrom('user', 'api-key', 'tenant', 'a', '0123456789abcdef'),
  // API keys have the kind 'api-key', and addresses have one tag for each of their spellings: test/bypass.
  fc.stringMatching(/^[a-z0-9-]{1,16}$/).filter((letters) => letters !== 'key' && letters !== 'ip'),
);
const identity: fc.Arbitrary<Identity> = fc.record({ kind, value: text });
const name = fc.oneof(
  fc.stringMatching(/^[ -~]{1,64}$/),
  fc.string({ unit: fc.constantFrom(':', '{', '}', '%', '#', 'a'), minLength: 1, maxLength: 64, size: 'max' }),
);
const scope = fc.oneof(fc.constantFrom('app', 'GET /', 'GET /api/:id', 'POST /a v1'), fc.string({ maxLength: 60 }));

interface KeyParts {
  readonly name: string;
  readonly scope: string;
  readonly rate: number;
}
const keyParts: fc.Arbitrary<KeyParts> = fc.record({ name, scope, rate: fc.integer({ min: 1, max: 1000 }) });

/** The part of the key after the identity, or undefined when the boot rejects the configuration for its length. */
function tail(prefix: string, { name: policy, scope: policyScope, rate }: KeyParts): string | undefined {
  try {
    const parsed = parsePolicy({ algorithm: 'token-bucket', capacity: 5, refill: rate, name: policy }, 'here');
    return keyTail(prefix, policyScope, parsed, 'here');
  } catch (error) {
    if (error instanceof RateLimitConfigError && error.message.includes('bytes in keys')) return undefined;
    throw error;
  }
}

const RUNS = { numRuns: 1000 };

describe('the key of a policy for an identity', () => {
  it('is at most 200 bytes, with exactly one pair of braces, whatever the identity', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!-z]{1,32}$/), keyParts, identity, (prefix, parts, counted) => {
        const end = tail(prefix, parts);
        fc.pre(end !== undefined);
        const key = keyOf(prefix, identityTag(counted), end);
        expect(Buffer.byteLength(key)).toBeLessThanOrEqual(200);
        expect(key).toMatch(/^[ -~]*$/);
        expect(key.match(/[{}]/g)).toEqual(['{', '}']);
      }),
      RUNS,
    );
  });

  it('differs for each identity', () => {
    fc.assert(
      fc.property(identity, identity, (a, b) => {
        const same = a.kind === b.kind && a.value === b.value;
        expect(identityTag(a) === identityTag(b)).toBe(same);
      }),
      RUNS,
    );
  });

  it("is 'key:' with a hash instead of the text for an 'api-key'", () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.stringMatching(/^[a-z0-9]{8,64}$/)), (value) => {
        const tag = identityTag({ kind: 'api-key', value });
        expect(tag).toMatch(/^key:#/);
        expect(value.length >= 8 && tag.includes(value)).toBe(false);
      }),
      RUNS,
    );
  });

  it('differs for an identity whose value is the escaped text of another one', () => {
    fc.assert(
      fc.property(kind, fc.oneof(text, fc.string({ minLength: 65, maxLength: 90 })), (k, value) => {
        const tag = identityTag({ kind: k, value });
        const crafted = tag.slice(tag.indexOf(':') + 1);
        expect(identityTag({ kind: k, value: crafted }) === tag).toBe(crafted === value);
      }),
      RUNS,
    );
  });

  it('differs for identities that differ in one UTF-16 unit', () => {
    const unit = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(kind, text, unit, unit, text, (k, before, a, b, after) => {
        fc.pre(a !== b);
        const tag = (code: number): string =>
          identityTag({ kind: k, value: `${before}${String.fromCharCode(code)}${after}` });
        expect(tag(a)).not.toBe(tag(b));
      }),
      RUNS,
    );
  });

  it.each([
    ['\ud800', '\ud801'],
    ['\ud800', '\udc00'],
    ['\ud800', '\ufffd'],
    ['\ud83d\ude00', '\ude00\ud83d'],
    [`${'x'.repeat(70)}\ud800`, `${'x'.repeat(70)}\ud801`],
    [`${'x'.repeat(70)}\ud800`, `${'x'.repeat(70)}\ufffd`],
  ])('differs for lone surrogates: %j and %j', (a, b) => {
    for (const k of ['user', 'api-key'])
      expect(identityTag({ kind: k, value: a })).not.toBe(identityTag({ kind: k, value: b }));
  });

  it('differs for each policy, scope, rate and identity, even with crafted names', () => {
    const crafted = fc.string({ unit: fc.constantFrom(':', '%', '3', 'A', 'a', '}', '{'), minLength: 1, maxLength: 6 });
    const parts = fc.record({ name: crafted, scope: crafted, rate: fc.integer({ min: 1, max: 3 }) });
    const counted = fc.record({ kind: fc.constantFrom('a', 'user'), value: crafted });
    fc.assert(
      fc.property(parts, counted, parts, counted, (p1, i1, p2, i2) => {
        const same = JSON.stringify([p1, i1]) === JSON.stringify([p2, i2]);
        const keys = [keyOf('rl', identityTag(i1), tail('rl', p1)!), keyOf('rl', identityTag(i2), tail('rl', p2)!)];
        expect(keys[0] === keys[1]).toBe(same);
      }),
      RUNS,
    );
  });
});

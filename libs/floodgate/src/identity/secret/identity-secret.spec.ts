import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, oneof, property, string, tuple } from 'fast-check';
import { anyText } from '../../../../../test/support/any-text.js';
import { expectSame } from '../../../../../test/support/expect-same.js';
import { histories } from '../../../../../test/support/property-runs.js';
import { keyOf } from '../../policy/key.js';
import type { Identity } from '../identity.js';
import { identityTag } from '../identity-tag.js';
import { IdentitySecret } from './identity-secret.js';

const OLD = 'an old secret, of more than 32 bytes';
const NEW = 'a newer secret, of more than 32 bytes';
const NEWEST = 'the newest secret, of more than 32 bytes';
const TAIL = ':app:api:t:1';

const identity = tuple(
  constantFrom('user', 'api-key', 'tenant', 'global'),
  oneof(anyText(), string({ maxLength: 90 })),
).map(([kind, value]): Identity => ({ kind, value }));

describe('a key under a secret', () => {
  const secret = new IdentitySecret(NEW, 'rl');
  const key = (one: Identity): string => keyOf(secret, identityTag(one), TAIL);

  it('is the same for the same identity, another one for each other identity, and shows its kind alone', () => {
    assert(
      property(identity, identity, (a, b) => {
        expectSame(key(a) === key(b), identityTag(a) === identityTag(b));
        expectSame(key(a).length <= 200, true);
        expectSame(key(a), keyOf(new IdentitySecret([NEW, OLD], 'rl'), identityTag(a), TAIL));
        expectSame(/^rl:\{(?:user|key|tenant|global):#[\w-]{22}\}:app:api:t:1$/.test(key(a)), true);
        expectSame(key(a) === keyOf(new IdentitySecret(OLD, 'rl'), identityTag(a), TAIL), false);
      }),
      histories(),
    );
  });

  it('shows nothing of a tag that a guard of the application has made without a kind', () => {
    for (const tag of ['ada@example.com', 'ada@example.com:1', 'A-long-name-of-a-customer:1', '']) {
      expect(keyOf(secret, tag, TAIL)).toMatch(/^rl:\{#[\w-]{22}\}:app/);
    }
  });

  it('stays as it is when more identities come than digests are kept', () => {
    const first = key({ kind: 'user', value: 'ada' });
    for (let i = 0; i < 10_001; i++) key({ kind: 'user', value: i });
    expect(key({ kind: 'user', value: 'ada' })).toBe(first);
  });
});

describe('a text under a secret', () => {
  it('is read under the current one and each previous one, and under no other', () => {
    const given = [OLD, [NEW, OLD] as const, NEW, [NEWEST, NEW, OLD] as const];
    const [old, both, renewed, all] = given.map((one) => new IdentitySecret(one, 'rl'));
    assert(
      property(anyText(), (text) => {
        const safe = Buffer.from(text).toString();
        const encrypted = old!.encrypt(safe);
        expectSame(old!.decrypt(encrypted), safe);
        expectSame(both!.decrypt(encrypted), safe);
        expectSame(all!.decrypt(encrypted), safe);
        expectSame(renewed!.decrypt(encrypted), encrypted);
        expectSame(renewed!.decrypt(both!.encrypt(safe)), safe);
        expectSame(old!.encrypt(safe) === encrypted, false);
        const changed = `${encrypted.startsWith('A') ? 'B' : 'A'}${encrypted.slice(1)}`;
        expectSame(old!.decrypt(changed), changed);
      }),
      histories(),
    );
  });

  it('of no secret stays as it is, and so does one that is cut off', () => {
    const secret = new IdentitySecret(NEW, 'rl');
    const cut = secret.encrypt('{}').slice(0, -8);
    for (const text of ['{"policy":"api"}', 'user:ada', 'ip:203.0.113.9', '', 'AAAA', cut]) {
      expect(secret.decrypt(text)).toBe(text);
    }
  });
});

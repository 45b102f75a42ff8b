import { hash } from 'node:crypto';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { Identity } from './identity.js';

const KIND = /^[a-z0-9-]{1,16}$/;
const MAX_BYTES = 64;
/** The longest tag: a kind, a colon, a value. */
export const MAX_TAG_BYTES = 16 + 1 + MAX_BYTES;

/** Characters that are not printable ASCII, or that have a meaning in keys: `%` escapes, `:` separates, braces tag, `#` hashes. */
const UNSAFE = /[^ !"$&-9;-z|~]/g;
const SOME_UNSAFE = /[^ !"$&-9;-z|~]/;

/**
 * Escapes every unsafe UTF-16 code unit: `%3A` below 256, `%u20AC` above. Distinct texts give distinct escapes, even lone
 * surrogates, which UTF-8 would merge. No escape contains `{`, `}`, `:` or `#`.
 */
export function escape(text: string): string {
  if (!SOME_UNSAFE.test(text)) return text;
  return text.replace(UNSAFE, (unit) => {
    const code = unit.charCodeAt(0).toString(16).toUpperCase();
    return code.length <= 2 ? `%${code.padStart(2, '0')}` : `%u${code.padStart(4, '0')}`;
  });
}

/** 132 bits of SHA-256 behind a `#`, which no escaped text contains. */
function digest(text: string): string {
  return `#${hash('sha256', text, 'base64url').slice(0, 22)}`;
}

/**
 * Writes an identity as keys contain it, between the braces of the hash tag. Distinct identities give distinct tags.
 *
 * @throws {RateLimitConfigError} for a wrong kind or value: a `by` function may return anything
 * @example identityTag({ kind: 'user', value: 'rider-1' }) // 'user:rider-1'
 */
export function identityTag(identity: Identity): string {
  if (!isKind(identity?.kind)) {
    throw new RateLimitConfigError(
      'an identity',
      `its kind must be 1 to 16 of a-z, 0-9 and -, as in { kind: 'user', value: '...' }`,
      'FG_INVALID_IDENTITY',
    );
  }
  // The option is called by: 'api-key', so functions are likely to return that kind.
  const kind = identity.kind === 'api-key' ? 'key' : identity.kind;
  const value = valueText(identity.value);
  if (value === undefined) {
    // No message shows an API key.
    const got = kind === 'key' ? '' : `, got ${shown(identity.value)}`;
    throw new RateLimitConfigError(
      `a '${kind}' identity`,
      `its value must be a string, a safe integer or a bigint${got}`,
      'FG_INVALID_IDENTITY',
    );
  }
  // SHA-256 reads UTF-8, in which distinct lone surrogates are equal. Their escapes differ.
  const safe = escape(value);
  return `${kind}:${kind === 'key' || safe.length > MAX_BYTES ? digest(safe) : safe}`;
}

const TAG_OF_KEY = /^key:#[\w-]{22}$/;

/**
 * Checks a tag that somebody has written. That of an API key has its hash: one with the key itself stands for nobody, and would be
 * kept and shown.
 *
 * @param where how the error message begins
 * @throws {RateLimitConfigError} for a key without its hash, which the message does not show
 */
export function checkTag(tag: string, where: string): void {
  if (!/^(?:api-)?key:/.test(tag) || TAG_OF_KEY.test(tag)) return;
  throw new RateLimitConfigError(
    where,
    `the tag of an API key has its hash, as in 'key:#...', got something else: give { kind: 'api-key', value: '...' }`,
    'FG_INVALID_IDENTITY',
  );
}

/**
 * The value of an identity as text; undefined where it is none. Other numbers than safe integers are mistakes: clients whose id is
 * NaN would share one state, and so would ids that a double cannot tell apart.
 */
export function valueText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Number.isSafeInteger(value) || typeof value === 'bigint' ? String(value) : undefined;
}

/** Whether `kind` can be an identity's kind. */
export function isKind(kind: unknown): boolean {
  // Most requests have one of these: a comparison of texts costs less than an expression.
  return kind === 'user' || kind === 'ip' || kind === 'key' || (typeof kind === 'string' && KIND.test(kind));
}

/**
 * The tag of a policy that counts all requests together. The name makes it distinct, so that such policies do not all share
 * one Cluster slot.
 */
export function globalTag(name: string): string {
  return identityTag({ kind: 'global', value: name });
}

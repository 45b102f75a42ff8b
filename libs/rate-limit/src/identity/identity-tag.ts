import { hash } from 'node:crypto';
import type { Identity } from './identity.js';

const KIND = /^[a-z0-9-]{1,16}$/;
const MAX_BYTES = 64;
/** The longest tag: a kind, a colon, a value. */
export const MAX_TAG_BYTES = 16 + 1 + MAX_BYTES;

/** All but printable ASCII, and of that what has a meaning in keys: `%` escapes, `:` separates, braces tag, `#` hashes. */
const UNSAFE = /[^ !"$&-9;-z|~]/g;
const SOME_UNSAFE = /[^ !"$&-9;-z|~]/;

/**
 * Escapes every UTF-16 code unit with a meaning of its own: `%3A` below 256, `%u20AC` above. Distinct texts give distinct
 * escapes, lone surrogates included (which UTF-8 would make one), and none contains `{`, `}`, `:` or `#`.
 */
export function escape(text: string): string {
  if (!SOME_UNSAFE.test(text)) return text;
  return text.replace(UNSAFE, (unit) => {
    const code = unit.charCodeAt(0).toString(16).toUpperCase();
    return code.length <= 2 ? `%${code.padStart(2, '0')}` : `%u${code.padStart(4, '0')}`;
  });
}

/** 132 bits of SHA-256, marked so that no escaped text can look like one. */
function digest(text: string): string {
  return `#${hash('sha256', text, 'base64url').slice(0, 22)}`;
}

/**
 * An identity as it stands in keys, between the braces of the hash tag. Distinct identities give distinct tags.
 *
 * @throws {TypeError} when the kind or the value is not one (a `by` function may return anything)
 */
export function identityTag(identity: Identity): string {
  if (!isKind(identity?.kind)) {
    throw new TypeError(`an identity's kind must be 1 to 16 of a-z, 0-9 and -, as in { kind: 'user', value: '...' }`);
  }
  const { value } = identity;
  // The option is called by: 'api-key', so this is what a function is likely to say.
  const kind = identity.kind === 'api-key' ? 'key' : identity.kind;
  if (typeof value !== 'string')
    throw new TypeError(`the value of a '${kind}' identity must be a string, got ${typeof value}`);
  // Escaped first: then distinct lone surrogates are hashed apart, too.
  const safe = escape(value);
  return `${kind}:${kind === 'key' || safe.length > MAX_BYTES ? digest(safe) : safe}`;
}

/** Whether `kind` can be an identity's kind. */
export function isKind(kind: unknown): boolean {
  return typeof kind === 'string' && KIND.test(kind);
}

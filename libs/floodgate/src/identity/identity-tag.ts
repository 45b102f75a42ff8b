import { hash } from 'node:crypto';
import { RateLimitConfigError, shapeOf } from '../util/config-error.js';
import { countedAddress, DEFAULT_IPV6_PREFIX } from './address.js';
import type { Identity } from './identity.js';

const KIND = /^[a-z0-9-]{1,16}$/;
/** The kind of API keys, as options, identities and answers name it. */
const API_KEY = 'api-key';
/**
 * The kind of API keys in tags, which are part of the store's keys. Another text would start every limit of an API key anew.
 */
const KEY_IN_TAGS = 'key';
const MAX_BYTES = 64;
/** The longest tag: a kind, a colon, a value. */
export const MAX_TAG_BYTES = 16 + 1 + MAX_BYTES;

/** Longer texts are hashed as they are: escaping takes longer than all else of a request. No header is as long in Node. */
const MAX_ESCAPED = 16_384;

/** Characters that are not printable ASCII, or that have a meaning in keys: `%` escapes, `:` separates, braces tag, `#` hashes. */
const SOME_UNSAFE = /[^ !"$&-9;-z|~]/;
/** The escape of each unit below 256; an empty text for a safe one. Made when a text needs it. */
let escapes: readonly string[] | undefined;

function escapesOfUnits(): readonly string[] {
  return Array.from({ length: 256 }, (_, code) =>
    SOME_UNSAFE.test(String.fromCharCode(code)) ? `%${inHex(code, 2)}` : '',
  );
}

function inHex(code: number, digits: number): string {
  return code.toString(16).toUpperCase().padStart(digits, '0');
}

/**
 * Escapes every unsafe UTF-16 code unit: `%3A` below 256, `%u20AC` above. Distinct texts give distinct escapes, even lone
 * surrogates, which UTF-8 would merge. No escape contains `{`, `}`, `:` or `#`.
 */
export function escape(text: string): string {
  if (!SOME_UNSAFE.test(text)) return text;
  // A loop: `replace` with a function takes three times as long, which shows in a header of 15 kB.
  const below256 = (escapes ??= escapesOfUnits());
  let [escaped, from] = ['', 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const unit = code < below256.length ? below256[code]! : `%u${inHex(code, 4)}`;
    if (unit === '') continue;
    escaped += text.slice(from, i) + unit;
    from = i + 1;
  }
  return escaped + text.slice(from);
}

/** 132 bits of SHA-256 behind a `#`, which no escaped text contains. */
function digest(escaped: string | Buffer): string {
  return `#${hash('sha256', escaped, 'base64url').slice(0, 22)}`;
}

/** The digest of a long text by its UTF-16 code units. The first byte is in no escaped text, so no other text has the same. */
function digestOfUnits(text: string): string {
  return digest(Buffer.concat([Buffer.of(0xff), Buffer.from(text, 'utf16le')]));
}

/**
 * Writes an identity as keys contain it, between the braces of the hash tag. Distinct identities give distinct tags.
 *
 * @param ipv6Prefix bits of an IPv6 address that count, for the kind `ip`: those of `ipIdentity`, default 56
 * @throws {RateLimitConfigError} for a wrong kind or value: a `by` function may return anything
 * @example identityTag({ kind: 'user', value: 'rider-1' }) // 'user:rider-1'
 */
export function identityTag(identity: Identity, ipv6Prefix: number = DEFAULT_IPV6_PREFIX): string {
  return tagFor(identity, '', ipv6Prefix);
}

/** The tag of an address that is written as it is counted. */
export function addressTag(counted: string): string {
  return `ip:${escape(counted)}`;
}

/**
 * The tag of an identity that a call gives.
 *
 * @param where how error messages begin, such as `RateLimiter.consume`; an empty text for none
 * @param ipv6Prefix bits of an IPv6 address that count
 * @throws {RateLimitConfigError} as `identityTag` does
 */
export function tagFor(identity: Identity, where: string, ipv6Prefix: number): string {
  const given: unknown = identity?.kind;
  if (!isKind(given)) {
    const got = shapeOf(typeof identity === 'object' ? given : identity);
    throw new RateLimitConfigError(
      `${calledBy(where)}an identity`,
      given === KEY_IN_TAGS
        ? NO_KIND
        : `its kind must be 1 to 16 of a-z, 0-9 and -, as in { kind: 'user', value: '...' }, got ${got}`,
      'FG_INVALID_IDENTITY',
    );
  }
  const isApiKey = given === API_KEY;
  const kind = isApiKey ? KEY_IN_TAGS : identity.kind;
  const value = valueText(identity.value);
  if (value === undefined) {
    throw new RateLimitConfigError(
      `${calledBy(where)}an identity of kind '${identity.kind}'`,
      `its value must be a string, a safe integer or a bigint, got ${shapeOf(identity.value)}`,
      'FG_INVALID_IDENTITY',
    );
  }
  if (kind === 'ip') {
    const counted = countedAddress(value, ipv6Prefix);
    if (counted !== undefined) return addressTag(counted);
    throw new RateLimitConfigError(
      `${calledBy(where)}an identity of kind 'ip'`,
      `its value must be an address such as '203.0.113.9', or a prefix such as '2001:db8::/${ipv6Prefix}', got ${shapeOf(value)}: ` +
        'give what is no address a kind of its own',
      'FG_INVALID_IDENTITY',
    );
  }
  if (value.length > MAX_ESCAPED) return `${kind}:${digestOfUnits(value)}`;
  // SHA-256 reads UTF-8, in which distinct lone surrogates are equal. Their escapes differ.
  const safe = escape(value);
  return `${kind}:${isApiKey || safe.length > MAX_BYTES ? digest(safe) : safe}`;
}

/** What is said of the kind that stands in tags alone. */
const NO_KIND = `its kind is 'key', the kind of an API key is 'api-key': give { kind: 'api-key', value: '...' }`;

/** The kind of the identity that a tag stands for. */
export function kindOfTag(tag: string): string {
  const kind = tag.slice(0, tag.indexOf(':'));
  return kind === KEY_IN_TAGS ? API_KEY : kind;
}

function calledBy(where: string): string {
  return where === '' ? '' : `${where}: `;
}

const TAG_OF_KEY = /^key:#[\w-]{22}$/;

/** How events name identities: by their tag, or by a hash of its value. */
export type IdentityNaming = 'tag' | 'hash';

/**
 * An identity's tag for an event. That of an API key is a hash in any case, even if a guard of the application has made another one.
 *
 * @returns the tag, or its kind with 132 bits of SHA-256 in place of the value
 */
export function namedIdentity(tag: string, naming: IdentityNaming): string {
  const colon = tag.indexOf(':');
  const isHashed = tag[colon + 1] === '#';
  if (isHashed || (naming === 'tag' && !isOfKey(tag))) return tag;
  return `${tag.slice(0, Math.max(0, colon))}:${digest(tag.slice(colon + 1))}`;
}

function isOfKey(tag: string): boolean {
  return /^(?:api-)?key:/.test(tag);
}

/**
 * Checks a tag that somebody has written. That of an API key has its hash: one with the key itself stands for nobody, and would be
 * kept and shown.
 *
 * @param where how the error message begins
 * @throws {RateLimitConfigError} for a key without its hash, which the message does not show
 */
export function checkTag(tag: string, where: string): void {
  if (!isOfKey(tag) || TAG_OF_KEY.test(tag)) return;
  throw new RateLimitConfigError(
    where,
    `the tag of an API key has its hash, as in 'key:#...', got ${shapeOf(tag)}: give { kind: 'api-key', value: '...' }`,
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

/** Whether `kind` can be an identity's kind. `'key'` cannot: API keys have the kind `'api-key'`. */
export function isKind(kind: unknown): boolean {
  // Most requests have one of these: a comparison of texts costs less than an expression.
  if (kind === 'user' || kind === 'ip' || kind === API_KEY) return true;
  return typeof kind === 'string' && kind !== KEY_IN_TAGS && KIND.test(kind);
}

/**
 * The tag of a policy that counts all requests together. The name makes it distinct, so that such policies do not all share
 * one Cluster slot.
 */
export function globalTag(name: string): string {
  return identityTag({ kind: 'global', value: name });
}

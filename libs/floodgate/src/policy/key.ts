import { escape, MAX_TAG_BYTES } from '../identity/identity-tag.js';
import { shardTags } from '../stores/shard-tags.js';
import { RateLimitConfigError } from '../util/config-error.js';
import type { ParsedPolicy } from './parse-policy.js';

const MAX_KEY_BYTES = 200;

/** How keys begin. A sealed prefix lets no identity stand in them. */
export type KeyPrefix = string | SealedPrefix;

/** A prefix whose keys contain digests of the identities' tags, and not the tags. */
export interface SealedPrefix {
  readonly text: string;
  /** The kind and a digest of at most 23 characters, in the place of a tag. */
  digestOf(tag: string): string;
}

/** Whether `prefix` can begin a key: 1 to 32 printable characters without blanks and braces. */
export function isKeyPrefix(prefix: unknown): boolean {
  return typeof prefix === 'string' && /^[\x21-\x7a|~]{1,32}$/.test(prefix);
}

/**
 * The part of a key after the identity: scope, name, algorithm, and the rate or window that the state depends on. A key says
 * what its state means, so a deploy that changes one of them starts afresh.
 *
 * @throws {RateLimitConfigError} when a key could become longer than 200 bytes
 */
export function keyTail(prefix: KeyPrefix, scope: string, policy: ParsedPolicy, where: string): string {
  const { algorithm } = policy;
  // A scope's own colons, as in /zones/:zone, need no escape: the three fields behind it have none.
  const tail = tailOf(scope, policy.name, algorithm.code, algorithm.rate);
  checkLength(tail, prefix, policy, where);
  return tail;
}

/**
 * The part of the key of a policy's block after the identity. It does not name the limit: a block outlives other numbers.
 *
 * @throws {RateLimitConfigError} when a key could become longer than 200 bytes
 */
export function blockTail(prefix: KeyPrefix, scope: string, policy: ParsedPolicy, where: string): string | undefined {
  if (policy.block === undefined) return undefined;
  const tail = tailOf(scope, policy.name, policy.block.code, policy.block.rate);
  checkLength(tail, prefix, policy, where);
  return tail;
}

/** The part of the key of a policy's pause after the identity. It is shorter than that of the policy. */
export function pauseTail({ boundTo, name }: { readonly boundTo: string; readonly name: string }): string {
  return tailOf(boundTo, name, 'p', '1');
}

function tailOf(scope: string, name: string, code: string, rate: string): string {
  return `:${escape(scope).replaceAll('%3A', ':')}:${escape(name)}:${code}:${rate}`;
}

function checkLength(tail: string, prefix: KeyPrefix, policy: ParsedPolicy, where: string): void {
  const room = MAX_KEY_BYTES - textOf(prefix).length - ':{}'.length - MAX_TAG_BYTES;
  if (tail.length > room) {
    throw new RateLimitConfigError(
      where,
      `the route, name and rate of policy '${policy.name}' take ${tail.length} bytes in keys, at most ${room} fit: ` +
        `give it a shorter name or path, or scope 'app' and a name`,
      'FG_KEY_TOO_LONG',
    );
  }
}

/**
 * A policy's key for an identity. The tag is the hash tag of a Cluster: a client's keys share a slot. Here alone an identity becomes a
 * part of a key.
 */
export function keyOf(prefix: KeyPrefix, tag: string, tail: string): string {
  if (typeof prefix === 'string') return `${prefix}:{${tag}}${tail}`;
  return `${prefix.text}:{${prefix.digestOf(tag)}}${tail}`;
}

function textOf(prefix: KeyPrefix): string {
  return typeof prefix === 'string' ? prefix : prefix.text;
}

/** The keys of a state that is split among several slots. */
export function shardKeys(prefix: KeyPrefix, tail: string, shards: number): readonly string[] {
  return shardTags(shards).map((tag) => keyOf(textOf(prefix), tag, tail)); // the tags of slots, and of no identity
}

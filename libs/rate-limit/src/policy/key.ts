import type { AlgorithmName } from '../algorithms/algorithm.js';
import { escape, MAX_TAG_BYTES } from '../identity/identity-tag.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { ParsedPolicy } from './parse-policy.js';

export { globalTag } from '../identity/identity-tag.js';

/** Short in every key. */
const CODES: Readonly<Record<AlgorithmName, string>> = {
  'token-bucket': 'tb',
  'leaky-bucket': 'lb',
  'fixed-window': 'fw',
  'sliding-window-log': 'swl',
  'sliding-window-counter': 'swc',
};

const MAX_KEY_BYTES = 200;
const PREFIX = /^[\x21-\x7a|~]{1,32}$/;

/** @throws {RateLimitConfigError} when it cannot begin a key */
export function checkKeyPrefix(prefix: unknown, place: string): string {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  throw new RateLimitConfigError(
    place,
    `keyPrefix must be 1 to 32 printable characters without blanks and braces, got ${shown(prefix)}`,
  );
}

/**
 * What stands in keys after the identity: scope, name, algorithm, and the rate or window that the state depends on. A key
 * says what its state means, so a deploy that changes one of them starts afresh.
 *
 * @throws {RateLimitConfigError} when a key could become longer than 200 bytes
 */
export function keyTail(prefix: string, scope: string, policy: ParsedPolicy, place: string): string {
  const { algorithm } = policy;
  // A scope's own colons, as in /zones/:zone, need no escape: the three fields behind it have none.
  const tail = `:${escape(scope).replaceAll('%3A', ':')}:${escape(policy.name)}:${CODES[algorithm.name]}:${algorithm.rate}`;
  const shard = policy.shards > 1 ? MAX_SHARD_BYTES : 0;
  const room = MAX_KEY_BYTES - prefix.length - ':{}'.length - MAX_TAG_BYTES - shard;
  if (tail.length > room) {
    throw new RateLimitConfigError(
      place,
      `the route, name and rate of policy '${policy.name}' take ${tail.length} bytes in keys, at most ${room} fit: ` +
        `give it a shorter name or path, or scope 'app' and a name`,
    );
  }
  return tail;
}

/** One policy's key for one identity; the identity's tag is the hash tag, so that a client's keys share a Cluster slot. */
export function keyOf(prefix: string, tag: string, tail: string): string {
  return `${prefix}:{${tag}}${tail}`;
}

/** The longest that a shard adds to a key. */
const MAX_SHARD_BYTES = '/63.64'.length;

/** The key of one of the parts of a state that is split among several slots: the tag says which of how many. */
export function shardKey(key: string, number: number, shards: number): string {
  return key.replace('}', `/${number}.${shards}}`);
}

/** The tag that stands in such a key. */
export function tagOf(key: string): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'));
}

import { globalTag, keyOf, keyTail, shardKey } from './key.js';
import type { ParsedPolicy } from './parse-policy.js';

/** A policy where it stands: a route, a controller or the application. */
export interface BoundPolicy extends ParsedPolicy {
  /** Where its state belongs, as it stands in keys: `POST /api/rides`, `RidesController /api/rides` or `app`. */
  readonly boundTo: string;
  /** The part of every key after the identity. */
  readonly keyTail: string;
  /** The one key of a policy that counts all clients together; undefined for the others. */
  readonly globalKey: string | undefined;
  /** The keys of its shards; undefined where the state is not split. */
  readonly shardKeys: readonly string[] | undefined;
}

/**
 * Binds a policy to the scope that its state belongs to.
 *
 * @param prefix how keys begin
 * @param boundTo the scope as it stands in keys
 * @param where how error messages begin
 * @throws {RateLimitConfigError} when a key could become longer than 200 bytes
 */
export function bindPolicy(parsed: ParsedPolicy, prefix: string, boundTo: string, where: string): BoundPolicy {
  const tail = keyTail(prefix, boundTo, parsed, where);
  const { by, name, shards } = parsed;
  const globalKey = by === 'global' ? keyOf(prefix, globalTag(name), tail) : undefined;
  return {
    ...parsed,
    boundTo,
    keyTail: tail,
    globalKey,
    // parsePolicy lets only global policies have shards.
    shardKeys:
      shards > 1 && globalKey !== undefined
        ? Array.from({ length: shards }, (_, i) => shardKey(globalKey, i, shards))
        : undefined,
  };
}

import { globalTag } from '../identity/identity-tag.js';
import { blockTail, keyOf, keyTail, shardKeys } from './key.js';
import type { ParsedPolicy } from './parse-policy.js';

/** A policy where it stands: on a route, on a controller or for the application. */
export interface BoundPolicy<Context = never> extends ParsedPolicy<Context> {
  /** The policy under the numbers of each plan; undefined where all clients get the same. */
  readonly plans: ReadonlyMap<string, BoundPolicy<Context>> | undefined;
  /** What its state belongs to, as it stands in keys: `POST /api/rides`, `RidesController /api/rides` or `app`. */
  readonly boundTo: string;
  /** How its keys begin. */
  readonly keyPrefix: string;
  /** The part of every key after the identity. */
  readonly keyTail: string;
  /** The one key of a policy that counts all clients together; undefined for the others. */
  readonly globalKey: string | undefined;
  /** As `keyTail`, of its block; undefined without one. */
  readonly blockTail: string | undefined;
  /** The keys of its shards; undefined where the state is not split. */
  readonly shardKeys: readonly string[] | undefined;
}

/**
 * Binds a policy to what its state belongs to.
 *
 * @param prefix how keys begin
 * @param where how error messages begin
 * @throws {RateLimitConfigError} when a key could become longer than 200 bytes
 */
export function bindPolicy<Context>(
  parsed: ParsedPolicy<Context>,
  prefix: string,
  boundTo: string,
  where: string,
): BoundPolicy<Context> {
  const tail = keyTail(prefix, boundTo, parsed, where);
  const { by, shards, plans } = parsed;
  const tag = globalTag(parsed.name);
  return {
    ...parsed,
    boundTo,
    keyPrefix: prefix,
    keyTail: tail,
    blockTail: blockTail(prefix, boundTo, parsed, where),
    globalKey: by === 'global' ? keyOf(prefix, tag, tail) : undefined,
    plans:
      plans &&
      new Map([...plans].map(([plan, one]) => [plan, bindPolicy(one, prefix, boundTo, `${where}, plans.${plan}`)])),
    // Only policies that count all clients together have shards: parsePolicy sees to that.
    shardKeys: shards > 1 ? shardKeys(prefix, tag, tail, shards) : undefined,
  };
}

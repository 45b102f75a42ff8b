import type { ExecutionContext } from '@nestjs/common';

/**
 * Who is asking.
 * @example { kind: 'user', value: 'rider-1234' }
 */
export interface Identity {
  /** `'user'`, `'key'` or `'api-key'` (always hashed), `'ip'`, or a kind of your own: 1 to 16 of a-z, 0-9 and -. */
  readonly kind: string;
  /** Any text: it is escaped in keys, and hashed when it is longer than 64 bytes or an API key. */
  readonly value: string;
}

/** Finds one kind of identity in a request. */
export interface IdentityResolver {
  /** The kind that it finds; `by: 'user'`, `'api-key'` and `'ip'` use the chain's resolvers of kind `user`, `key`, `ip`. */
  readonly kind: string;
  /** The header that it believes, if it believes one: boot logs the name. */
  readonly header?: string;
  /**
   * The value; undefined, null or `''` when the request has none. May be asynchronous (to verify a token, say). One that throws
   * or rejects is logged, and the request counts as one without an identity: see `onMissingIdentity`. The request waits for it
   * without a deadline: give what it asks one of its own.
   */
  readonly resolve: (context: ExecutionContext) => string | null | undefined | Promise<string | null | undefined>;
}

/**
 * What a policy does with a request that has no identity of the kind it counts, or whose identity function failed:
 * - `'ip'` (default): counts its address, under the kind `ip`, which no user and no key can be taken for
 * - `'refuse'`: answers 401, charging nothing
 * - `'throw'`: a logged 500, charging nothing: for routes that no request may reach without one
 */
export type OnMissingIdentity = 'ip' | 'refuse' | 'throw';

export const ON_MISSING_IDENTITY: readonly OnMissingIdentity[] = ['ip', 'refuse', 'throw'];

/**
 * What a request counts as that can have no address: one over a UNIX domain socket or a pipe without a proxy that names the
 * client. All of them share it.
 */
export const UNKNOWN: Identity = { kind: 'unknown', value: '' };

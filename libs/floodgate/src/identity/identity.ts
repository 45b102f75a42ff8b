import type { RateLimitRequest, RequestFunction } from './request-function.js';

/** What tells one client from others of its kind. A number is a safe integer: `7`, `7n` and `'7'` are one client. */
export type IdentityValue = string | number | bigint;

/**
 * One client, user or other subject that a policy counts.
 *
 * @example { kind: 'user', value: 'rider-1234' }
 */
export interface Identity {
  /** `'user'`, `'api-key'` (always hashed), `'ip'`, or a kind of your own: 1 to 16 of a-z, 0-9 and -. */
  readonly kind: string;
  /**
   * Any text or whole number. Keys contain it escaped; an API key, or a text of more than 64 bytes, is hashed. Of kind `ip` an
   * address: port and zone are left out, IPv4-mapped IPv6 counts as IPv4, and IPv6 is cut to the prefix that counts.
   */
  readonly value: IdentityValue;
}

/** The value of an identity, or none. */
export type MaybeValue = IdentityValue | null | undefined;

/** An identity, or none: undefined, null, or an identity without a value. Requests without one follow `onMissingIdentity`. */
export type MaybeIdentity = { readonly kind: string; readonly value: MaybeValue } | null | undefined;

/** Finds the identity that a policy counts, as the policy's `by`. */
export type IdentityFunction<Context> = RequestFunction<Context, MaybeIdentity | Promise<MaybeIdentity>>;

/** Finds one kind of identity in a request. */
export interface IdentityResolver<Context> {
  /** The kind of the identities. `by: 'user'`, `'api-key'` and `'ip'` use the resolvers of that kind. */
  readonly kind: string;
  /** The header that the resolver trusts, if there is one. The log names it at boot. Default none. */
  readonly header?: string;
  /**
   * Returns the identity's value; undefined, null or `''` when the request has none, or of kind `ip` what is no address. May be asynchronous, to verify a token for
   * example. A resolver that throws, rejects or takes longer than `deadline` is logged, and the request follows
   * `onMissingIdentity`. The policies of a route call it once per request; those of the module's `middleware` run before
   * authentication and call it once more.
   */
  readonly resolve: RequestFunction<Context, MaybeValue | Promise<MaybeValue>>;
}

/** A resolver that answers at once, from the request alone. */
export interface SyncIdentityResolver extends IdentityResolver<unknown> {
  /** For a resolver of kind `ip`: the bits of an IPv6 address that count in the module, a whole number from 1 to 128. Default: as another resolver says, else 56. */
  readonly ipv6Prefix?: number;
  readonly resolve: (request: RateLimitRequest) => string | undefined;
}

/**
 * What a policy does with a request that lacks the identity it counts, or whose identity function failed:
 * - `'ip'` (default): counts the address, under the kind `ip`, so that it never equals a user or a key
 * - `'reject'`: answers 401, charging nothing
 * - `'throw'`: a logged 500, charging nothing: for routes that need authentication
 */
export type OnMissingIdentity = 'ip' | 'reject' | 'throw';

export const ON_MISSING_IDENTITY: readonly OnMissingIdentity[] = ['ip', 'reject', 'throw'];

/**
 * The identity that a policy counts:
 * - `'client'` (default): the first identity that the module's chain finds
 * - `'ip'`, `'user'`, `'api-key'`: that kind of identity; where a request has none, see `onMissingIdentity`
 * - `'global'`: all clients together
 * - a function: what it returns, of any kind; undefined, null or an empty value where the request has none
 *
 * @example by: ({ tenant }: RateLimitRequest<{ tenant?: Tenant }>) => tenant && { kind: 'tenant', value: tenant.id }
 */
export type IdentityBy<Context> = 'client' | 'ip' | 'user' | 'api-key' | 'global' | IdentityFunction<Context>;

/** What the identity chain needs of a policy. */
export interface CountedBy<Context> {
  readonly name: string;
  readonly by: IdentityBy<Context>;
  /** Undefined: the module's choice. */
  readonly onMissingIdentity: OnMissingIdentity | undefined;
}

/**
 * The identity of requests without an address: those over a UNIX domain socket or a pipe, unless a proxy names the client. All
 * of them share one state.
 */
export const UNKNOWN: Identity = { kind: 'unknown', value: '' };

import type { SyncIdentityResolver } from './identity.js';
import { addressResolver, headerResolver } from './resolvers.js';

/**
 * Reads API keys from a header, kind `api-key`. Name it in `identity` only behind a gateway that
 * checks keys: other clients can invent a key for each request. Keys in the store always contain a hash.
 *
 * @param options.header the header's name, in any case; default `X-API-Key`
 * @throws {RateLimitConfigError} when `header` is no header's name, or for an unknown option
 * @example identity: [apiKeyIdentity({ header: 'X-Client-Key' }), ipIdentity()]
 */
export function apiKeyIdentity(options: { header?: string | undefined } = {}): SyncIdentityResolver {
  return headerResolver('apiKeyIdentity', 'api-key', options, 'X-API-Key');
}

/**
 * Reads users from a header, kind `user`. Name it in `identity` only behind a gateway that
 * sets the header: other clients can invent a user for each request.
 *
 * @param options.header the header's name, in any case; default `X-User-Id`
 * @throws {RateLimitConfigError} when `header` is no header's name, or for an unknown option
 * @example identity: [userIdentity(), ipIdentity()]
 */
export function userIdentity(options: { header?: string | undefined } = {}): SyncIdentityResolver {
  return headerResolver('userIdentity', 'user', options, 'X-User-Id');
}

/**
 * Reads the client's address, kind `ip`, by the server's trust-proxy setting, never from a raw `X-Forwarded-For`.
 * Port and zone are left out, and IPv4-mapped IPv6 counts as IPv4. IPv6 is cut to a prefix, since each subscriber has a whole
 * one. When a proxy passes on a text that is no address, the address of the connection counts.
 *
 * @param options.header the header in which a CDN names the client's address alone, in any case; default none. Name it only where
 *   each request comes through the CDN: other clients can invent an address for each request
 * @param options.ipv6Prefix bits of an IPv6 address that count: a whole number from 1 to 128, default 56
 * @throws {RateLimitConfigError} when an option is unknown or wrong, such as the header `X-Forwarded-For`, which a client begins
 * @example identity: [ipIdentity({ ipv6Prefix: 64 })]
 * @example ipIdentity({ header: 'CF-Connecting-IP' })
 */
export function ipIdentity(
  options: { header?: string | undefined; ipv6Prefix?: number | undefined } = {},
): SyncIdentityResolver {
  return addressResolver(options);
}

import { isIPv4 } from 'node:net';
import type { ExecutionContext } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { type HttpRequest, requestOf } from '../http/context.js';
import type { IdentityResolver } from './identity.js';

/**
 * The value of a header that names an identity, or undefined when it is absent or empty. Of a repeated header the first
 * value counts: Node joins repeats with a comma, which would make every repetition a new identity.
 */
function headerValue(request: HttpRequest, name: string): string | undefined {
  const header = request.headers[name];
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined || !value.includes(',')) return value === '' ? undefined : value;
  const raw = request.rawHeaders ?? request.raw?.rawHeaders ?? [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]!.toLowerCase() === name) return raw[i + 1] === '' ? undefined : raw[i + 1];
  }
  return value;
}

function headerResolver(kind: string, header: string): IdentityResolver {
  const name = header.toLowerCase();
  return { kind, resolve: (context) => headerValue(requestOf(context), name) };
}

/**
 * API keys from a header (default `X-API-Key`), kind `key`. They are only as good as the gateway that checks them; in keys
 * they are always hashed.
 */
export function apiKeyIdentity(options: { header?: string } = {}): IdentityResolver {
  return headerResolver('key', options.header ?? 'x-api-key');
}

/** Users from a header (default `X-User-Id`), kind `user`. Only as good as the gateway that sets it. */
export function userIdentity(options: { header?: string } = {}): IdentityResolver {
  return headerResolver('user', options.header ?? 'x-user-id');
}

/**
 * The client's address, kind `ip`: what Express's or Fastify's own trust-proxy setting makes of it, never a raw
 * `X-Forwarded-For`. IPv4-mapped IPv6 counts as IPv4; IPv6 is cut to a prefix, since a subscriber has a whole one.
 *
 * @param options.ipv6Prefix bits of an IPv6 address that count: a whole number from 1 to 128, default 56
 * @throws {RangeError} when the prefix is not one
 */
export function ipIdentity(options: { ipv6Prefix?: number } = {}): IdentityResolver {
  const prefix = options.ipv6Prefix ?? 56;
  if (!Number.isInteger(prefix) || prefix < 1 || prefix > 128) {
    throw new RangeError(`ipIdentity: ipv6Prefix must be a whole number from 1 to 128, got ${prefix}`);
  }
  return {
    kind: 'ip',
    resolve: (context: ExecutionContext) => {
      const request = requestOf(context);
      // Behind a proxy `ip` can be any text that the proxy passed on.
      return address(request.ip, prefix) ?? address(request.socket?.remoteAddress, prefix);
    },
  };
}

/** The canonical text of an address, IPv6 cut to `prefix` bits; undefined when it is not an address. */
export function address(text: string | undefined, prefix: number): string | undefined {
  if (text === undefined || isIPv4(text)) return text;
  if (!ipaddr.IPv6.isValid(text)) return undefined;
  const parsed = ipaddr.IPv6.parse(text);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const bytes = parsed
    .toByteArray()
    .map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - i * 8))) & 0xff);
  return `${ipaddr.fromByteArray(bytes).toString()}/${prefix}`;
}

/** `X-API-Key`, then `X-User-Id`, then the address. */
export function defaultIdentities(): readonly IdentityResolver[] {
  return [apiKeyIdentity(), userIdentity(), ipIdentity()];
}

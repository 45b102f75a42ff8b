import { isIPv4, isIPv6 } from 'node:net';
import type { ExecutionContext } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { type HttpRequest, requestOf } from '../nest/http-context.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
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

/** What HTTP lets a header's name be. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

function checkOptions(place: string, options: object, known: string): void {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(place, `options must be an object such as { ${known} }, got ${shown(options)}`);
  }
  const unknown = Object.keys(options).find((option) => option !== known);
  if (unknown === undefined) return;
  throw new RateLimitConfigError(place, `${shown(unknown)} is not an option; the only option is ${known}`);
}

function headerResolver(
  place: string,
  kind: string,
  options: { header?: string },
  defaultHeader: string,
): IdentityResolver {
  checkOptions(place, options, 'header');
  const { header = defaultHeader } = options;
  if (typeof header !== 'string' || !HEADER_NAME.test(header)) {
    throw new RateLimitConfigError(place, `header must be the name of a header, got ${shown(header)}`);
  }
  const name = header.toLowerCase();
  return { kind, header, resolve: (context) => headerValue(requestOf(context), name) };
}

/**
 * API keys from a header (default `X-API-Key`), kind `key`. The module uses it only where `identity` names it: a client that
 * reaches the application without a gateway that checks keys can invent one for every request. In keys they are always hashed.
 *
 * @param options.header the header's name, in any case
 * @throws {RateLimitConfigError} when that is no header's name
 * @example RateLimitModule.forRoot({ identity: [apiKeyIdentity({ header: 'X-Client-Key' }), ipIdentity()] })
 */
export function apiKeyIdentity(options: { header?: string } = {}): IdentityResolver {
  return headerResolver('apiKeyIdentity', 'key', options, 'X-API-Key');
}

/**
 * Users from a header (default `X-User-Id`), kind `user`. The module uses it only where `identity` names it: a client that
 * reaches the application without a gateway that sets the header can invent a user for every request.
 *
 * @param options.header the header's name, in any case
 * @throws {RateLimitConfigError} when that is no header's name
 * @example RateLimitModule.forRoot({ identity: [userIdentity(), ipIdentity()] })
 */
export function userIdentity(options: { header?: string } = {}): IdentityResolver {
  return headerResolver('userIdentity', 'user', options, 'X-User-Id');
}

/**
 * The client's address, kind `ip`: what Express's or Fastify's own trust-proxy setting makes of it, never a raw
 * `X-Forwarded-For`. A port and a zone are left out, IPv4-mapped IPv6 counts as IPv4, and IPv6 is cut to a prefix, since a
 * subscriber has a whole one. Where a proxy passes on what is no address, the connection's own address counts.
 *
 * @param options.ipv6Prefix bits of an IPv6 address that count: a whole number from 1 to 128, default 56
 * @throws {RangeError} when the prefix is not one
 * @throws {RateLimitConfigError} for an unknown option
 * @example RateLimitModule.forRoot({ identity: [ipIdentity({ ipv6Prefix: 64 })] })
 */
export function ipIdentity(options: { ipv6Prefix?: number } = {}): IdentityResolver {
  checkOptions('ipIdentity', options, 'ipv6Prefix');
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

/**
 * The canonical text of an address, without port and zone, IPv6 cut to `prefix` bits; undefined when it is not an address.
 * Behind a proxy the text is whatever somebody wrote into a header: `unknown`, `9.9.9.9:1234`, `fe80::1%eth0`.
 */
export function address(text: string | undefined, prefix: number): string | undefined {
  if (text === undefined || isIPv4(text)) return text;
  const bare = text.length > MAX_ADDRESS ? '' : withoutPortAndZone(text);
  if (isIPv4(bare)) return bare;
  // Node is stricter than ipaddr.js, which takes ::ffff:010.1.2.3 and reads an octal number.
  if (!isIPv6(bare)) return undefined;
  const bytes = ipaddr.IPv6.parse(inHex(bare)).toByteArray();
  // By its bits: ::ffff:102:304 is 1.2.3.4, too.
  if (MAPPED.every((byte, i) => bytes[i] === byte)) return bytes.slice(MAPPED.length).join('.');
  const kept = bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - i * 8))) & 0xff);
  return `${ipaddr.fromByteArray(kept).toString()}/${prefix}`;
}

/** `::1.2.3.4` as `::102:304`: ipaddr.js reads the former as `::ffff:1.2.3.4`, which is another address. */
function inHex(text: string): string {
  return text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...[a, b, c, d]: string[]) => {
    const group = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);
    return `${group(a!, b!)}:${group(c!, d!)}`;
  });
}

/** Longer than any address with brackets, zone and port; nothing longer is searched. */
const MAX_ADDRESS = 100;
/** How an IPv4 address mapped into IPv6 begins. */
const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/** `1.2.3.4:80`, `[::1]:80`, `[::1]`, `fe80::1%eth0`: a port is another one for each connection, a zone means this host only. */
function withoutPortAndZone(text: string): string {
  const [, bracketed, v4, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5}|(.*))$/s.exec(text) ?? [];
  const found = bracketed ?? v4 ?? plain ?? '';
  const zone = found.indexOf('%');
  return zone === -1 ? found : found.slice(0, zone);
}

/** The address alone: a client can invent whatever else a request says of it. */
export function defaultIdentities(): readonly IdentityResolver[] {
  return [ipIdentity()];
}

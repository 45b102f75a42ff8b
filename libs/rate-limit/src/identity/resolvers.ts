import { RateLimitConfigError, shown } from '../util/config-error.js';
import { address } from './address.js';
import type { SyncIdentityResolver } from './identity.js';

/** What the resolvers read of a request. The requests of Node, Express and Fastify fit. */
export interface IdentityRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders?: readonly string[];
  /** Node's request, where the framework wraps it. */
  readonly raw?: Pick<IdentityRequest, 'rawHeaders'>;
  /** The client's address by the framework's trust-proxy setting. */
  readonly ip?: string;
  readonly socket?: { readonly remoteAddress?: string };
}

/**
 * Reads an identity from a header.
 *
 * @param place how error messages begin
 * @throws {RateLimitConfigError} when `header` is no header's name, or for an unknown option
 */
export function headerResolver(
  place: string,
  kind: string,
  options: { header?: string },
  defaultHeader: string,
): SyncIdentityResolver {
  checkOptions(place, options, 'header');
  const { header = defaultHeader } = options;
  if (typeof header !== 'string' || !HEADER_NAME.test(header)) {
    throw new RateLimitConfigError(
      place,
      `header must be the name of a header, got ${shown(header)}`,
      'FG_INVALID_OPTION',
    );
  }
  const name = header.toLowerCase();
  return { kind, header, resolve: (request) => headerValue(request, name) };
}

/**
 * Reads the client's address.
 *
 * @param options.ipv6Prefix bits of an IPv6 address that count: a whole number from 1 to 128, default 56
 * @throws {RateLimitConfigError} when the prefix is out of range, or for an unknown option
 */
export function addressResolver(options: { ipv6Prefix?: number }): SyncIdentityResolver {
  checkOptions('ipIdentity', options, 'ipv6Prefix');
  const prefix = options.ipv6Prefix ?? 56;
  if (!Number.isInteger(prefix) || prefix < 1 || prefix > 128) {
    throw new RateLimitConfigError(
      'ipIdentity',
      `ipv6Prefix must be a whole number from 1 to 128, got ${shown(prefix)}`,
      'FG_INVALID_OPTION',
    );
  }
  return { kind: 'ip', resolve: (request) => addressOf(request, prefix) };
}

/**
 * The client's address, cut to `prefix` bits; undefined where the request has none. Behind a proxy, `ip` can be any text that the
 * proxy passed on: the address of the connection counts then.
 */
export function addressOf({ ip, socket }: Pick<IdentityRequest, 'ip' | 'socket'>, prefix: number): string | undefined {
  return address(ip, prefix) ?? address(socket?.remoteAddress, prefix);
}

/**
 * The value of a header, or undefined when the header is absent or empty. The first value of a repeated header counts: Node
 * joins repeats with a comma, so that each repetition would make a new identity.
 */
function headerValue(request: IdentityRequest, name: string): string | undefined {
  const header = request.headers[name];
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined || !value.includes(',')) return value === '' ? undefined : value;
  const raw = request.rawHeaders ?? request.raw?.rawHeaders ?? [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]!.toLowerCase() === name) return raw[i + 1] === '' ? undefined : raw[i + 1];
  }
  return value;
}

/** The characters that HTTP allows in a header's name (RFC 9110, section 5.1). */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

function checkOptions(place: string, options: object, known: string): void {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(
      place,
      `options must be an object such as { ${known} }, got ${shown(options)}`,
      'FG_INVALID_OPTION',
    );
  }
  const unknown = Object.keys(options).find((option) => option !== known);
  if (unknown === undefined) return;
  throw new RateLimitConfigError(
    place,
    `${shown(unknown)} is not an option; the only option is ${known}`,
    'FG_UNKNOWN_OPTION',
  );
}

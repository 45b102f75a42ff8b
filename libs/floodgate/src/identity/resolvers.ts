import { RateLimitConfigError, shown } from '../util/config-error.js';
import { DEFAULT_IPV6_PREFIX, fullAddress } from './address.js';
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
 * @param where how error messages begin
 * @throws {RateLimitConfigError} when `header` is no header's name, or for an unknown option
 */
export function headerResolver(
  where: string,
  kind: string,
  options: { header?: string },
  defaultHeader: string,
): SyncIdentityResolver {
  checkOptions(where, options, ['header']);
  const { header = defaultHeader } = options;
  const name = headerName(where, header);
  return { kind, header, resolve: (request) => headerValue(request, name) };
}

/** The name of a header as requests have it. */
function headerName(where: string, header: unknown): string {
  if (typeof header !== 'string' || !HEADER_NAME.test(header)) {
    throw new RateLimitConfigError(where, `header must be the name of a header, got ${shown(header)}`);
  }
  return header.toLowerCase();
}

/** What `ipIdentity` takes. */
export interface AddressOptions {
  readonly header?: string;
  readonly ipv6Prefix?: number;
}

/** Headers in which each proxy adds an address: the first one is what the client has written. */
const FORWARDED: readonly string[] = ['x-forwarded-for', 'forwarded'];

/**
 * Reads the client's address, with all of its bits: the identity chain cuts it to those that count.
 *
 * @throws {RateLimitConfigError} when the prefix is out of range, for a header that has no single address, or for an unknown option
 */
export function addressResolver(options: AddressOptions): SyncIdentityResolver {
  checkOptions('ipIdentity', options, ['header', 'ipv6Prefix']);
  const { header, ipv6Prefix } = options;
  if (ipv6Prefix !== undefined && !(Number.isInteger(ipv6Prefix) && ipv6Prefix >= 1 && ipv6Prefix <= 128)) {
    throw new RateLimitConfigError(
      'ipIdentity',
      `ipv6Prefix must be a whole number from 1 to 128, got ${shown(ipv6Prefix)}`,
    );
  }
  const prefix = ipv6Prefix === undefined ? {} : { ipv6Prefix };
  if (header === undefined) return { kind: 'ip', ...prefix, resolve: addressOf };
  const name = headerName('ipIdentity', header);
  if (FORWARDED.includes(name)) {
    throw new RateLimitConfigError(
      'ipIdentity',
      `header must be one that holds the address of the client alone, such as 'CF-Connecting-IP', got ${shown(header)}, which a client ` +
        'begins itself: set trust proxy, and leave header out',
    );
  }
  const resolve = (request: IdentityRequest): string | undefined =>
    fullAddress(headerValue(request, name)) ?? addressOf(request);
  return { kind: 'ip', header, ...prefix, resolve };
}

/**
 * The bits of an IPv6 address that count.
 *
 * @param where what has the option `identity`, for messages
 * @throws {RateLimitConfigError} where two of its resolvers differ: one address would have two limits
 */
export function ipv6PrefixOf(
  resolvers: readonly { readonly kind: string; readonly ipv6Prefix?: number }[],
  where: string,
): number {
  const [first = DEFAULT_IPV6_PREFIX, ...others] = resolvers.flatMap(({ ipv6Prefix }) => ipv6Prefix ?? []);
  const other = others.find((prefix) => prefix !== first);
  if (other === undefined) return first;
  throw new RateLimitConfigError(
    `${where}, identity`,
    `ipv6Prefix must be one for all addresses, got ${first} and ${other}: give it to one ipIdentity, or the same to all`,
  );
}

/** Whether a header that a CDN sets names the client's address, so that no trust-proxy setting is asked. */
export function readsAddressHeader(resolvers: readonly { readonly kind: string; readonly header?: string }[]): boolean {
  return resolvers.some(({ kind, header }) => kind === 'ip' && header !== undefined);
}

/**
 * The client's address; undefined where the request has none. Behind a proxy, `ip` can be any text that the proxy passed on: the
 * address of the connection counts then.
 */
function addressOf({ ip, socket }: Pick<IdentityRequest, 'ip' | 'socket'>): string | undefined {
  return fullAddress(ip) ?? fullAddress(socket?.remoteAddress);
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

function checkOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(
      where,
      `options must be an object such as { ${known.at(-1)} }, got ${shown(options)}`,
    );
  }
  const unknown = Object.keys(options).find((option) => !known.includes(option));
  if (unknown === undefined) return;
  throw new RateLimitConfigError(
    where,
    `${shown(unknown)} is not an option; ${known.length === 1 ? 'the only option is' : 'the options are'} ${known.join(' and ')}`,
    'FG_UNKNOWN_OPTION',
  );
}

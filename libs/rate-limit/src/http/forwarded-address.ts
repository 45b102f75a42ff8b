import ipaddr from 'ipaddr.js';
import type { IdentityRequest } from '../identity/resolvers.js';
import type { TrustProxySetting } from './trust-proxy.js';

/** Whether the address `hop` steps away from this process is a proxy of the application; 0 is the connection itself. */
export type ProxyTrust = (address: string, hop: number) => boolean;

/** The names that Express and Fastify know for ranges of addresses. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * The platform's trust-proxy setting as a function. The platform applies its setting to HTTP requests alone; the request of a
 * WebSocket upgrade passes it by.
 *
 * @param setting undefined where the platform has none: then no proxy is trusted
 */
export function proxyTrust(setting: TrustProxySetting | undefined): ProxyTrust {
  const given = setting?.given;
  if (typeof given === 'function') return (address, hop) => Boolean(given(address, hop));
  if (given === true) return () => true;
  if (typeof given === 'number') return (_, hop) => hop < given;
  const listed: unknown[] = typeof given === 'string' ? given.split(',') : Array.isArray(given) ? given : [];
  const ranges = listed.flatMap((entry) => NAMED[String(entry).trim()] ?? [String(entry).trim()]).flatMap(rangeOf);
  return (address) => contains(ranges, address);
}

/**
 * The client's address: the first one, seen from this process, that is no proxy of the application. Addresses further away are
 * whatever the client wrote into `X-Forwarded-For`.
 */
export function forwardedAddress({ headers, socket }: IdentityRequest, trusts: ProxyTrust): string | undefined {
  const direct = socket?.remoteAddress;
  if (direct === undefined) return undefined;
  const header = headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',');
  const addresses = [direct, ...forwarded.map((text) => text.trim()).toReversed()].filter((text) => text !== '');
  const client = addresses.findIndex((address, hop) => !trusts(address, hop));
  return addresses[client === -1 ? addresses.length - 1 : client];
}

type Range = ReturnType<typeof ipaddr.parseCIDR>;

function rangeOf(text: string): Range[] {
  if (ipaddr.isValidCIDR(text)) return [ipaddr.parseCIDR(text)];
  if (!ipaddr.isValid(text)) return [];
  const address = ipaddr.process(text);
  return [[address, address.kind() === 'ipv4' ? 32 : 128] as Range];
}

function contains(ranges: readonly Range[], text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  // An IPv4 address that came over an IPv6 socket is the IPv4 address.
  const address = ipaddr.process(text);
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

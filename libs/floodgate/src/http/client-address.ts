import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether the platform trusts a hop to name the one before it. Hop 0 is the connection. */
export type TrustsHop = (address: string, hop: number) => boolean;

/** The part of Node's request that tells where it comes from. */
export interface ForwardedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket?: { readonly remoteAddress?: string };
}

/**
 * The client's address of a request that did not pass through the platform, as an upgrade to WebSocket: by the platform's own
 * rule, the hop nearest to the client that a trusted hop names.
 */
export function clientAddress({ headers, socket }: ForwardedRequest, trusts: TrustsHop): string | undefined {
  const peer = socket?.remoteAddress;
  const forwarded = headers['x-forwarded-for'];
  if (peer === undefined || forwarded === undefined) return peer;
  const named = [forwarded].flat().join(',').split(',');
  const hops = [peer, ...named.map((hop) => hop.trim()).toReversed()].filter((hop) => hop !== '');
  const last = hops.findIndex((hop, i) => i === hops.length - 1 || !trusts(hop, i));
  return hops[last];
}

/**
 * The address in the name of a gRPC peer: `ipv4:192.0.2.1:5678`, `ipv6:[::1]:5678` or, as grpc-js has it, `::1:5678`. A UNIX
 * domain socket and an unknown peer have none.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/naming.md
 */
export function peerAddress(peer: string): string | undefined {
  const [, bracketed, plain = ''] = /^(?:ipv[46]:)?(?:(?:\[|%5B)(.*?)(?:\]|%5D)(?::\d+)?|(.*))$/i.exec(peer) ?? [];
  const names = bracketed === undefined ? [plain.replace(/:\d+$/, ''), plain] : [bracketed];
  return names.find((name) => isIP(name) !== 0);
}

/** Names of ranges that Express and Fastify know. */
const RANGES: Readonly<Record<string, readonly string[]>> = {
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  loopback: ['127.0.0.1/8', '::1/128'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** The rule behind Fastify's `trustProxy`, which has checked the value. */
export function trustsHop(given: unknown): TrustsHop {
  if (typeof given === 'function') return (address, hop) => Boolean(given(address, hop));
  if (typeof given === 'number') return (_, hop) => hop < given;
  if (typeof given !== 'string' && !Array.isArray(given)) return () => given === true;
  const texts = [given].flat().flatMap((text) => String(text).split(','));
  const ranges = texts.map((text) => text.trim()).flatMap((text) => RANGES[text] ?? text);
  const parsed = ranges.map(parseRange);
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const hop = ipaddr.process(address);
    return parsed.some(([network, bits]) => network.kind() === hop.kind() && hop.match(network, bits));
  };
}

/** `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or `10.0.0.1`. */
function parseRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [address = '', length] = text.split('/');
  const network = ipaddr.process(address);
  const mapped = ipaddr.parse(address).kind() !== network.kind();
  const all = network.kind() === 'ipv4' ? 32 : 128;
  if (length === undefined) return [network, all];
  if (!/^\d+$/.test(length)) return [network, ipaddr.parse(length).prefixLengthFromSubnetMask() ?? all];
  return [network, mapped ? Number(length) - 96 : Number(length)];
}

import { isIPv4, isIPv6 } from 'node:net';

/** Longer than any address with brackets, zone and port. The expressions below never search a longer text. */
const MAX_ADDRESS = 100;
/** The number of 16-bit groups of an IPv6 address. */
const GROUPS = 8;
const ALL_BITS = 128;
/** The first groups of an IPv4 address that is mapped into IPv6. */
const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0xffff];
const MAPPED_TEXT = '::ffff:';

/**
 * The canonical text of an address, without port and zone, IPv6 cut to `prefix` bits; undefined when the text is no address.
 * Behind a proxy the text may be anything that a header contained: `unknown`, `9.9.9.9:1234`, `fe80::1%eth0`.
 */
export function address(text: string | undefined, prefix: number): string | undefined {
  if (text === undefined || isIPv4(text)) return text;
  // What Node says of IPv4 clients of a server that listens on both: no need to parse it.
  if (text.startsWith(MAPPED_TEXT)) {
    const ipv4 = text.slice(MAPPED_TEXT.length);
    if (isIPv4(ipv4)) return ipv4;
  }
  const bare = text.length > MAX_ADDRESS ? '' : withoutPortAndZone(text);
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return undefined;
  const groups = groupsOf(bare);
  // The groups tell: ::ffff:102:304 is 1.2.3.4 as well.
  if (MAPPED.every((group, i) => groups[i] === group)) {
    return groups
      .slice(MAPPED.length)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  }
  const kept = groups.map((group, i) => group & (0xffff0000 >> Math.min(16, Math.max(0, prefix - i * 16))) & 0xffff);
  return `${canonical(kept.map((group) => group.toString(16)).join(':'))}/${prefix}`;
}

/** The bits of an IPv6 address that count by default: those that a provider gives to one subscriber. */
export const DEFAULT_IPV6_PREFIX = 56;

/**
 * The address that identities of kind `ip` have, whoever names them: a header, a function of the application, an operator.
 *
 * @param text an address in any spelling, or a prefix of at least `prefix` bits, such as `2001:db8::/56`
 * @returns undefined when the text is no address
 */
export function countedAddress(text: string, prefix: number): string | undefined {
  const [, bare, bits = '128'] = /^([^/]*)\/(\d{1,3})$/.exec(text.slice(0, MAX_ADDRESS)) ?? ['', text];
  return Number(bits) < prefix ? undefined : address(bare, prefix);
}

/** The canonical text of an address with all of its bits; undefined when the text is no address. */
export function fullAddress(text: string | undefined): string | undefined {
  return address(text, ALL_BITS)?.replace(`/${ALL_BITS}`, '');
}

/** An IPv6 address as RFC 5952 writes it, but an IPv4 address in it as two groups: Node's parser of URLs does so. */
function canonical(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

function groupsOf(ipv6: string): number[] {
  const [before = '', after] = (ipv6.includes('.') ? canonical(ipv6) : ipv6).split('::');
  const [first, last] = [before, after ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [
    string[],
    string[],
  ];
  const zeros = Array.from({ length: GROUPS - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
}

/** Reads `1.2.3.4:80`, `[::1]:80`, `[::1]` and `fe80::1%eth0`. A port differs by connection; a zone has a meaning on one host only. */
function withoutPortAndZone(text: string): string {
  const [, bracketed, v4, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5}|(.*))$/s.exec(text) ?? [];
  const found = bracketed ?? v4 ?? plain ?? '';
  const zone = found.indexOf('%');
  return zone === -1 ? found : found.slice(0, zone);
}

import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Longer than any address with brackets, zone and port. The expressions below never search a longer text. */
const MAX_ADDRESS = 100;
/** The first bytes of an IPv4 address that is mapped into IPv6. */
const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/**
 * The canonical text of an address, without port and zone, IPv6 cut to `prefix` bits; undefined when the text is no address.
 * Behind a proxy the text may be anything that a header contained: `unknown`, `9.9.9.9:1234`, `fe80::1%eth0`.
 */
export function address(text: string | undefined, prefix: number): string | undefined {
  if (text === undefined || isIPv4(text)) return text;
  const bare = text.length > MAX_ADDRESS ? '' : withoutPortAndZone(text);
  if (isIPv4(bare)) return bare;
  // Node is stricter than ipaddr.js, which takes ::ffff:010.1.2.3 and reads an octal number.
  if (!isIPv6(bare)) return undefined;
  const bytes = ipaddr.IPv6.parse(inHex(bare)).toByteArray();
  // The bytes tell: ::ffff:102:304 is 1.2.3.4 as well.
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

/** Reads `1.2.3.4:80`, `[::1]:80`, `[::1]` and `fe80::1%eth0`. A port differs by connection; a zone has a meaning on one host only. */
function withoutPortAndZone(text: string): string {
  const [, bracketed, v4, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5}|(.*))$/s.exec(text) ?? [];
  const found = bracketed ?? v4 ?? plain ?? '';
  const zone = found.indexOf('%');
  return zone === -1 ? found : found.slice(0, zone);
}

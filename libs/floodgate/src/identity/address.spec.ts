import { isIPv6 } from 'node:net';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { address } from './address.js';

/** By another parser: ipaddr.js, which reads `::1.2.3.4` as another address, and so gets its last groups in hexadecimal. */
function oracle(text: string, prefix: number): string {
  const hex = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a, b, c, d] = parts.slice(0, 4).map(Number) as [number, number, number, number];
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const parsed = ipaddr.IPv6.parse(hex);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString()}/${prefix}`);
  return `${network.toString()}/${prefix}`;
}

const IPV4 = fc.ipV4();
const TEXTS = fc.oneof(
  fc.ipV6(),
  fc.ipV6().map((text) => text.toUpperCase()),
  IPV4.map((text) => `::ffff:${text}`),
  IPV4.map((text) => `::${text}`),
  IPV4.map((text) => `0:0:0:0:0:FFFF:${text}`),
  IPV4.map((text) => `64:ff9b::${text}`),
);

it('cuts each IPv6 address to its prefix, and finds the IPv4 address in a mapped one, as ipaddr.js does', () => {
  fc.assert(
    fc.property(TEXTS, fc.integer({ min: 0, max: 128 }), (text, prefix) => {
      fc.pre(isIPv6(text));
      expect(address(text, prefix)).toBe(oracle(text, prefix));
    }),
    { numRuns: 2000 },
  );
});

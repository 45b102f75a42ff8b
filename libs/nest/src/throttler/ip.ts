import { isIPv4, isIPv6 } from 'node:net';
import { address } from 'floodgate/internal-boot';

/** The bits of an IPv6 address that count by default: those that a provider gives to one customer. */
export const DEFAULT_IPV6_SUBNET_PREFIX = 64;

const IPV6_BITS = 128;

/**
 * The text under which `ThrottlerGuard` counts an address: IPv4 as it is, also where it is mapped into IPv6; `::1` as it is;
 * other IPv6 addresses cut to `ipv6SubnetPrefix` bits. A text that is no address is returned unchanged.
 *
 * @param ipv6SubnetPrefix bits, 0 to 128, default 64
 * @example normalizeIp('2001:db8::1:2:3:4') // '2001:db8::/64'
 */
export function normalizeIp(ip: string, ipv6SubnetPrefix: number = DEFAULT_IPV6_SUBNET_PREFIX): string {
  if (typeof ip !== 'string') return ip;
  const zone = ip.indexOf('%');
  const bare = zone === -1 ? ip : ip.slice(0, zone);
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return ip;
  if (address(bare, IPV6_BITS) === `::1/${IPV6_BITS}`) return '::1';
  const bits = Number.isFinite(ipv6SubnetPrefix) ? Math.trunc(ipv6SubnetPrefix) : DEFAULT_IPV6_SUBNET_PREFIX;
  return address(bare, Math.min(IPV6_BITS, Math.max(0, bits))) ?? ip;
}

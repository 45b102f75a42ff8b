import { BlockList, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';

/** The bits before the IPv4 address in an IPv6 address that maps it. */
const MAPPED_BITS = 96;

/** Addresses and CIDR ranges. */
export class AddressList {
  private readonly ranges = new BlockList();

  /**
   * @param ranges addresses such as `203.0.113.7`, and ranges such as `10.0.0.0/8` and `2001:db8::/32`
   * @param where how error messages begin
   * @throws {RateLimitConfigError} naming the index and the value of the first one that is wrong
   */
  constructor(ranges: readonly unknown[], where: string) {
    for (const [i, range] of ranges.entries()) this.add(range, `${where}[${i}]`);
  }

  /** @param address without port and zone; an IPv4-mapped IPv6 address is an IPv4 address */
  has(address: string): boolean {
    return this.ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  }

  private add(range: unknown, where: string): void {
    const fail = (wanted: string): never => {
      throw new RateLimitConfigError(where, `${wanted}, got ${shown(range)}`);
    };
    const [text = '', length, ...rest] = typeof range === 'string' ? range.split('/') : [];
    // Node is stricter than ipaddr.js, which takes 010.1.2.3 and 10.1.
    const isAddress = isIPv4(text) || (isIPv6(text) && !text.includes('%'));
    if (!isAddress || rest.length > 0) {
      return fail(`must be an address such as '203.0.113.7' or a range such as '10.0.0.0/8' or '2001:db8::/32'`);
    }
    const given = ipaddr.parse(text);
    const most = given.kind() === 'ipv4' ? 32 : 128;
    const bits = length === undefined ? most : Number(length);
    if (length !== undefined && (!/^\d{1,3}$/.test(length) || bits > most)) {
      return fail(`must have 0 to ${most} bits after the slash`);
    }
    const isMapped = given.kind() === 'ipv6' && (given as ipaddr.IPv6).isIPv4MappedAddress();
    if (isMapped && bits < MAPPED_BITS) return fail(`must have ${MAPPED_BITS} to 128 bits where it maps IPv4`);
    const network = networkOf(text, bits);
    if (network !== undefined && network !== given.toString()) {
      return fail(`must begin at its first address, as '${network}/${bits}' or '${text}' do`);
    }
    const address = isMapped ? (given as ipaddr.IPv6).toIPv4Address().toString() : given.toString();
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    this.ranges.addSubnet(address, isMapped ? bits - MAPPED_BITS : bits, family);
  }
}

/** The first address of a range, as ipaddr.js writes it. */
function networkOf(text: string, bits: number): string | undefined {
  const cidr = `${text}/${bits}`;
  return (isIPv4(text) ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(cidr).toString();
}

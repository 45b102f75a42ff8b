import type { Socket } from 'node:net';
import { isIPv4 } from 'node:net';

/**
 * The peer of a connection, for counting: an IPv4 address, or the /64 network of an IPv6 address.
 *
 * One machine usually has a whole /64 network, and could otherwise use a new address for every connection.
 */
export function peerOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(remoteAddress)?.[1];
  if (mapped !== undefined) return mapped;
  if (remoteAddress === '' || isIPv4(remoteAddress)) return remoteAddress;
  const [head = '', tail] = remoteAddress.split('%')[0]!.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const behind = tail === '' ? [] : tail.split(':');
    groups.push(...Array.from({ length: 8 - groups.length - behind.length }, () => '0'), ...behind);
  }
  return groups.slice(0, 4).join(':');
}

import { isIPv4 } from 'node:net';

const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/** The name in a `Host` header, in lower case and without the port, such as `[::1]`; undefined for a malformed header. */
export function hostName(header: string | undefined): string | undefined {
  if (header === undefined || !HOST.test(header) || !URL.canParse(`http://${header}`)) return undefined;
  return new URL(`http://${header}`).hostname;
}

/** Whether every browser takes a name for this machine without a DNS server. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

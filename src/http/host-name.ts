import { isIPv4 } from 'node:net';

const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/** The name in a `Host` header, in lower case and without the port: `[::1]` for IPv6. Undefined where it is none. */
export function hostName(header: string | undefined): string | undefined {
  if (header === undefined || !HOST.test(header) || !URL.canParse(`http://${header}`)) return undefined;
  return new URL(`http://${header}`).hostname;
}

/** Whether a name is this machine for every browser: no DNS server is asked about it. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

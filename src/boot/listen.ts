import { type AddressInfo, isIPv6, type Server } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { ALL_ADDRESSES } from '../config/configuration.js';

/** Addresses that a browser on this machine reaches as `localhost`. */
const LOCAL = new Set([ALL_ADDRESSES, '0.0.0.0', '::', '127.0.0.1', '::1', 'localhost']);

/**
 * Listens on the address that `BIND` names.
 *
 * @param bind an IP address, `localhost` or `ALL_ADDRESSES`
 * @param port 0: a free port
 * @returns the URL for a browser on this machine, such as `http://localhost:3000`
 */
export async function listen(app: INestApplication, bind: string, port: number): Promise<string> {
  // Without an address Node listens on all: on `::`, or on `0.0.0.0` where there is no IPv6.
  await (bind === ALL_ADDRESSES ? app.listen(port) : app.listen(port, bind));
  const { port: actual } = (app.getHttpServer() as Server).address() as AddressInfo;
  const host = LOCAL.has(bind) ? 'localhost' : isIPv6(bind) ? `[${bind}]` : bind;
  return `http://${host}:${actual}`;
}

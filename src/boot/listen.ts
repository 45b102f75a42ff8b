import { type AddressInfo, isIPv6, type Server } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { ALL_ADDRESSES } from '../config/configuration.js';
import { EnvironmentError } from '../config/read-configuration.js';

/** Addresses that a browser on this machine reaches as `localhost`. */
const LOCAL = new Set([ALL_ADDRESSES, '0.0.0.0', '::', '127.0.0.1', '::1', 'localhost']);

/**
 * Listens on the address that `BIND` names.
 *
 * @param bind an IP address, `localhost` or `ALL_ADDRESSES`
 * @param port 0: a free port
 * @param variable the environment variable that chooses another port
 * @throws EnvironmentError when the process cannot listen there
 * @returns the URL for a browser on this machine, such as `http://localhost:3000`
 */
export async function listen(
  app: INestApplication,
  bind: string,
  port: number,
  variable: 'PORT' | 'MATCHING_PORT',
): Promise<string> {
  try {
    // Without an address Node listens on all: on `::`, or on `0.0.0.0` where there is no IPv6.
    await (bind === ALL_ADDRESSES ? app.listen(port) : app.listen(port, bind));
  } catch (error) {
    throw isListenError(error) ? new EnvironmentError(problemOf(error, bind, port, variable)) : error;
  }
  const { port: actual } = (app.getHttpServer() as Server).address() as AddressInfo;
  const host = LOCAL.has(bind) ? 'localhost' : isIPv6(bind) ? `[${bind}]` : bind;
  return `http://${host}:${actual}`;
}

function isListenError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall === 'listen';
}

function problemOf({ code, message }: NodeJS.ErrnoException, bind: string, port: number, variable: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is taken: end the process that listens on it, or set ${variable} to a free port`;
    case 'EACCES':
      return `Port ${port} is reserved for the system: set ${variable} to a port from 1024`;
    case 'EADDRNOTAVAIL':
      return `BIND is "${bind}", expected an address of this machine`;
    default:
      return `BIND "${bind}" and ${variable} "${port}" cannot be listened on: ${message}`;
  }
}

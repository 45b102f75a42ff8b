import type { Server } from 'node:http';
import { ConflictException } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

/**
 * Where this process itself is reached, such as `http://localhost:3000`.
 *
 * @throws ConflictException when it does not listen, or not on a TCP port
 */
export function ownOrigin({ httpAdapter }: HttpAdapterHost): string {
  const address = (httpAdapter.getHttpServer() as Server).address();
  if (address === null || typeof address === 'string') {
    throw new ConflictException('requests to this process go over TCP, and it does not listen there');
  }
  // Who listens on every address is reached at this machine's own.
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

import type { Server } from 'node:http';
import { ConflictException } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

/**
 * The origin under which this process reaches itself, such as `http://localhost:3000`.
 *
 * @throws ConflictException when the process does not listen on a TCP port
 */
export function ownOrigin({ httpAdapter }: HttpAdapterHost): string {
  const address = (httpAdapter.getHttpServer() as Server).address();
  if (address === null || typeof address === 'string') {
    throw new ConflictException(
      'the control room sends requests over TCP, but this process does not listen on a TCP port',
    );
  }
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

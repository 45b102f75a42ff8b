import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../config/configuration.js';

/** How often connections that have become idle are looked for while the server closes. */
const SWEEP_MS = 100;

/**
 * Ends the server's connections when it closes: idle ones at once, those with a request after its response, and what is left
 * after the grace: half-sent requests, clients that do not read, streams and upgraded sockets.
 *
 * `server.close()` alone waits for them without an end. It also stops Node's check of header and request timeouts.
 */
@Injectable()
export class Connections implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('Connections');
  private readonly sockets = new Set<Socket>();
  private readonly responses = new Set<ServerResponse>();
  private server: Server | undefined;
  private ending = false;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly configuration: Configuration,
  ) {}

  onModuleInit(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    this.server = server;
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.prependListener('request', (_: IncomingMessage, response: ServerResponse) => {
      this.responses.add(response);
      if (this.ending) response.shouldKeepAlive = false;
      response.once('close', () => {
        this.responses.delete(response);
        // Node keeps a connection whose last response ends now, and a client could ask on it for ever.
        if (this.ending) setImmediate(() => server.closeIdleConnections());
      });
    });
  }

  /** Begins the grace; the second call does nothing. The server may go on listening until it closes. */
  end(): void {
    if (this.ending || this.server === undefined) return;
    this.ending = true;
    for (const response of this.responses) response.shouldKeepAlive = false; // says Connection: close
    const { shutdownGraceMs } = this.configuration.http;
    const sweep = setInterval(() => this.sweep(), SWEEP_MS);
    const grace = setTimeout(() => this.destroy(), shutdownGraceMs);
    this.sweep();
    this.server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(grace);
    });
  }

  onModuleDestroy(): void {
    this.end();
  }

  private sweep(): void {
    const { server } = this;
    if (server === undefined) return;
    server.closeIdleConnections();
    // Node counts a connection that has said nothing yet, as browsers open them, among the active ones.
    if (!server.listening) for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  private destroy(): void {
    const { size } = this.sockets;
    if (size > 0) {
      this.logger.warn(`${size} connections did not end within ${this.configuration.http.shutdownGraceMs} ms: cut off`);
    }
    for (const socket of this.sockets) socket.destroy();
  }
}

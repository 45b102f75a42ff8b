import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../config/configuration.js';

interface Use {
  /** Requests whose responses have not been sent. */
  open: number;
  /** What had been read when the last one was. More than that is the beginning of the next request. */
  bytesRead: number;
}

/** How often connections that have become idle are looked for while the server closes. */
const SWEEP_MS = 100;

/**
 * Ends the server's connections when it closes: idle ones at once, those with a request after its response, and what is left
 * after the grace: half-sent requests, clients that do not read, streams and upgraded sockets.
 *
 * `server.close()` alone waits for them without an end, and stops Node's check of header and request timeouts. It also takes a
 * connection for idle whose response has been written but not yet sent, and cuts that response short.
 */
@Injectable()
export class Connections implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('Connections');
  private readonly sockets = new Map<Socket, Use>();
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
      this.sockets.set(socket, { open: 0, bytesRead: 0 });
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const use = this.sockets.get(socket);
      if (use !== undefined) use.open++;
      this.responses.add(response);
      if (this.ending) response.shouldKeepAlive = false;
      response.once('close', () => {
        this.responses.delete(response);
        if (use === undefined) return;
        use.open--;
        use.bytesRead = socket.bytesRead;
        // Node keeps a connection whose last response ends now, and a client could ask on it for ever.
        if (this.ending) setImmediate(() => this.closeIdle());
      });
    });
    // `close()` calls it.
    server.closeIdleConnections = () => this.closeIdle();
  }

  /** Begins the grace; the second call does nothing. The server may go on listening until it closes. */
  end(): void {
    if (this.ending || this.server === undefined) return;
    this.ending = true;
    for (const response of this.responses) response.shouldKeepAlive = false; // says Connection: close
    const { shutdownGraceMs } = this.configuration.http;
    const sweep = setInterval(() => this.closeIdle(), SWEEP_MS);
    const grace = setTimeout(() => this.destroy(), shutdownGraceMs);
    this.closeIdle();
    this.server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(grace);
    });
  }

  onModuleDestroy(): void {
    this.end();
  }

  private closeIdle(): void {
    for (const [socket, { open, bytesRead }] of this.sockets) {
      if (open > 0 || socket.bytesRead > bytesRead) continue;
      // One that has said nothing yet may be about to, while new ones are taken.
      if (bytesRead === 0 && this.server?.listening) continue;
      socket.destroy();
    }
  }

  private destroy(): void {
    const { size } = this.sockets;
    if (size > 0) {
      this.logger.warn(`${size} connections did not end within ${this.configuration.http.shutdownGraceMs} ms: cut off`);
    }
    for (const socket of this.sockets.keys()) socket.destroy();
  }
}

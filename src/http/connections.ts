import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { HttpAdapterHost } from '@nestjs/core';
import type { Configuration, HttpConfiguration } from '../config/configuration.js';

interface Use {
  /** Requests whose responses have not been sent. */
  open: number;
  /** The socket's `bytesRead` when the last response was sent. Later bytes belong to the next request. */
  bytesRead: number;
}

/** How often a closing server looks for connections that have become idle. */
const SWEEP_MS = 100;

/** Longer than gateways keep an idle connection (60 s). If this end closed first, the gateway's client would get a 502. */
const KEEP_ALIVE_MS = 65_000;

/**
 * Limits the time that clients take for requests, and ends the server's connections when it closes.
 *
 * A closing server ends idle connections at once, and others after their response. After the grace it cuts off the rest:
 * half-sent requests, clients that do not read, streams and upgraded sockets. `server.close()` alone would wait for them
 * forever and stop Node's check of timeouts. It would also cut short a response that is written but not yet sent.
 */
@Injectable()
export class Connections implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('Connections');
  private readonly sockets = new Map<Socket, Use>();
  private readonly responses = new Set<ServerResponse>();
  private readonly times: HttpConfiguration;
  private server: Server | undefined;
  private ending = false;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    config: ConfigService<Configuration, true>,
  ) {
    this.times = config.get('http', { infer: true });
  }

  onModuleInit(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    this.server = server;
    const { headersTimeoutMs, requestTimeoutMs } = this.times;
    server.headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs);
    server.requestTimeout = requestTimeoutMs;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
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
        // Node keeps a connection whose last response ends now, and a client could use it forever.
        if (this.ending) setImmediate(() => this.closeIdle());
      });
    });
    // `server.close()` calls it.
    server.closeIdleConnections = () => this.closeIdle();
  }

  /** Begins the grace. A second call does nothing. The server may listen until it closes. */
  end(): void {
    if (this.ending || this.server === undefined) return;
    this.ending = true;
    for (const response of this.responses) response.shouldKeepAlive = false; // says Connection: close
    const sweep = setInterval(() => this.closeIdle(), SWEEP_MS);
    const grace = setTimeout(() => this.destroy(), this.times.shutdownGraceMs);
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
      // A connection without a request may be new: its client is about to send one.
      if (bytesRead === 0 && this.server?.listening) continue;
      socket.destroy();
    }
  }

  private destroy(): void {
    const { size } = this.sockets;
    if (size > 0) {
      this.logger.warn(`Cut off connections that did not end within ${this.times.shutdownGraceMs} ms: ${size}`);
    }
    for (const socket of this.sockets.keys()) socket.destroy();
  }
}

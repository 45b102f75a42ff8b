import type { EventEmitter } from 'node:events';
import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpRequest } from '../nest/http-context.js';

/** What this needs of a server. */
interface Server extends Pick<EventEmitter, 'on' | 'listenerCount'> {
  address?(): unknown;
}

interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly server?: Server | undefined;
}

/**
 * Keeps the peers' addresses. A connection that was reset has none any more, and a request may be read from it all the same:
 * counted as nobody's, such requests would have a second bucket.
 */
export class Connections {
  private overTcp = false;

  /** Reads the address of every connection when it opens: Node then keeps it for the socket's life. */
  watch({ httpAdapter }: HttpAdapterHost): void {
    // An application context has no adapter, and an adapter of one's own may have no such server.
    const server = httpAdapter?.getHttpServer?.() as Partial<Server> | undefined;
    if (typeof server?.on !== 'function') return;
    const opened = (connection: Connection): void => {
      void connection.remoteAddress;
      // Not asked later: a server that closes has no address either, while its last requests come.
      this.overTcp ||= isTcp(server);
    };
    server.on('connection', opened);
    // Over TLS requests come from another socket than the one that was accepted.
    server.on('secureConnection', opened);
  }

  /** Whether something takes upgrades, such as a WebSocket gateway: Node hands these requests to it and to nobody else. */
  takesUpgrades({ httpAdapter }: HttpAdapterHost): boolean {
    const server = httpAdapter?.getHttpServer?.() as Partial<Server> | undefined;
    return (server?.listenerCount?.('upgrade') ?? 0) > 0;
  }

  /**
   * Whether a request without an address came over TCP, so that its client has gone. Over UNIX domain sockets and pipes there
   * are no addresses, and in a function of a cloud there may be no connection.
   */
  isLost(request: HttpRequest): boolean {
    const { server } = (request.raw?.socket ?? request.socket ?? {}) as Connection;
    return server === undefined ? this.overTcp : isTcp(server) || (this.overTcp && server.address?.() === null);
  }
}

function isTcp(server: Partial<Server>): boolean {
  const address = server.address?.();
  return typeof address === 'object' && address !== null;
}

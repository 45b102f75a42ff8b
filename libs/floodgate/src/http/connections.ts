import type { EventEmitter } from 'node:events';
import type { HttpRequest } from './request.js';

/** What `Connections` needs of an HTTP server. The server of a custom platform may lack each of it. */
export type HttpServer = Partial<Pick<EventEmitter, 'on' | 'listenerCount'> & { address(): unknown }>;

interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly server?: HttpServer | undefined;
}

/**
 * Keeps the addresses of clients. A connection that was reset has no address, but the server may still read requests from it.
 * If these counted as unknown, their clients would have a second bucket.
 */
export class Connections {
  private overTcp = false;
  private readonly watched = new WeakSet<HttpServer>();

  /**
   * Reads the address of every connection when it opens: Node then keeps the address for the socket's life. A server is watched once.
   *
   * @param server undefined in an application without HTTP
   */
  watch(server: HttpServer | undefined): void {
    if (typeof server?.on !== 'function' || this.watched.has(server)) return;
    this.watched.add(server);
    const opened = (connection: Connection): void => {
      void connection.remoteAddress;
      // A server that closes has no address, but still serves its last requests. So `isLost` cannot ask later.
      this.overTcp ||= isTcp(server);
    };
    server.on('connection', opened);
    // Over TLS, requests do not come from the socket that was accepted.
    server.on('secureConnection', opened);
  }

  /**
   * Whether a request without an address came over TCP, so that its client has gone. UNIX domain sockets and pipes have no
   * addresses, and a cloud function may have no connection.
   */
  isLost(request: HttpRequest): boolean {
    const { server } = (request.raw?.socket ?? request.socket ?? {}) as Connection;
    return server === undefined ? this.overTcp : isTcp(server) || (this.overTcp && server.address?.() === null);
  }
}

/** Whether something takes upgrades, such as a WebSocket gateway. Node hands these requests to the upgrade listener only. */
export function takesUpgrades(server: HttpServer | undefined): boolean {
  return (server?.listenerCount?.('upgrade') ?? 0) > 0;
}

function isTcp(server: HttpServer): boolean {
  const address = server.address?.();
  return typeof address === 'object' && address !== null;
}

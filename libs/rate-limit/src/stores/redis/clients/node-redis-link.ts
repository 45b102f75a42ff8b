import { afterLoopTime } from '../../loop-timer.js';
import type { ConnectionSocket } from './client.js';
import { queuedLookup } from './lookup.js';
import { AS_SENT, type NodeRedis, type NodeRedisSocket, PROMISED_SOCKET } from './node-redis.js';

const CONNECT_MS = 10_000;

type Lookup = typeof queuedLookup;

/** What a link asks of its owner. */
export interface LinkOwner {
  /** Makes the client, with `link.socketOf` as its option `socket`. It may have to ask others for the address first. */
  make(link: NodeRedisLink): NodeRedis | Promise<NodeRedis>;
  /** There is a connection, on which Redis has yet to accept the client. */
  connected(link: NodeRedisLink): void;
  /** Does what comes before the connection is used. */
  prepare(link: NodeRedisLink): Promise<unknown>;
  /** The connection is lost or destroyed. Called once, at once. */
  ended(link: NodeRedisLink, error: Error): void;
}

/**
 * One connection of node-redis, from its first attempt to its end: a client that connects once and is never used again. So no
 * reconnection of node-redis, which differs from version to version, decides what is sent again and when.
 *
 * It stands for the socket, which node-redis does not show: each answer counts as a byte.
 */
export class NodeRedisLink implements ConnectionSocket {
  bytesRead = 0;
  connecting = true;
  destroyed = false;
  /** What INFO told first of a server's data; empty: it may not be asked. */
  persistence = '';
  /** The client, once it was made. */
  client: NodeRedis | undefined;
  /** Whether the name of the server is being looked up: there is no socket yet. */
  isLookingUp = false;
  /** Milliseconds that the connection may take, by a clock that stops while the event loop stalls. */
  private connectMs = CONNECT_MS;
  private readonly aborter = new AbortController();
  private lost: ((error: Error) => void) | undefined;
  private readonly end: Promise<never>;
  private readonly heard = (): void => void this.bytesRead++;

  constructor(private readonly owner: LinkOwner) {
    this.end = new Promise((_, reject) => (this.lost = reject));
    this.end.catch(() => undefined);
  }

  get writable(): boolean {
    return !this.destroyed && this.client?.isReady === true;
  }

  /** The option `socket` of the client: what the application has chosen, the address, and what the link needs. */
  socketOf(given: NodeRedisSocket = {}, address: { readonly host?: string; readonly port?: number } = {}): object {
    const { connectTimeout, lookup = queuedLookup } = given;
    if (typeof connectTimeout === 'number' && connectTimeout > 0) this.connectMs = connectTimeout;
    const told: Lookup = (hostname, options, callback) => {
      this.isLookingUp = true;
      (lookup as Lookup)(hostname, options, (...answer) => {
        this.isLookingUp = false;
        callback(...answer);
      });
    };
    const { host } = { ...given, ...address };
    return {
      ...given,
      ...address,
      // Version 5 keeps the brackets of a URL's IPv6 address, which no lookup finds.
      ...(host !== undefined && { host: host.replace(/^\[(.*)\]$/, '$1') }),
      ...PROMISED_SOCKET,
      lookup: told,
      signal: this.aborter.signal,
    };
  }

  /**
   * Connects, and prepares the connection.
   *
   * @throws {Error} when the connection is lost meanwhile, or takes too long
   */
  async open(): Promise<void> {
    const opened = this.dial();
    opened.catch(() => undefined);
    try {
      // Versions before 6 wait without end for a connection that is lost while it introduces itself.
      await Promise.race([opened, this.end]);
    } catch (error) {
      this.destroy(error as Error);
      throw error;
    }
  }

  /** Sends a command, and notes that an answer came. */
  send(args: readonly string[]): Promise<unknown> {
    const answer = this.client!.sendCommand(args, AS_SENT);
    answer.then(this.heard, this.heard);
    return answer;
  }

  /** Closes the connection after its last answer. */
  async close(): Promise<void> {
    await this.client?.close();
  }

  destroy(error: Error): void {
    if (this.destroyed) return;
    this.destroyed = true;
    // First: calls that fail now find a connection that is known to be lost.
    this.owner.ended(this, error);
    this.lost!(error);
    try {
      this.client?.destroy();
    } catch {
      // node-redis 5 throws when the connection is lost already.
    }
    // node-redis leaves a socket alone that is still connecting.
    this.aborter.abort(error);
  }

  private async dial(): Promise<void> {
    const client = await this.owner.make(this);
    if (this.destroyed) return;
    this.client = client;
    // Without a listener, an `error` event ends the process. Each of them means that the connection is lost.
    client.on('error', (error) => this.destroy(error instanceof Error ? error : new Error(String(error))));
    client.on('connect', () => {
      if (this.destroyed) return;
      this.connecting = false;
      this.owner.connected(this);
    });
    const { connectMs } = this;
    const late = (): void => this.destroy(new Error(`Redis did not answer on the connection within ${connectMs} ms`));
    const cancel = afterLoopTime(connectMs, late);
    try {
      await client.connect();
    } finally {
      cancel();
    }
    this.heard();
    if (!this.destroyed) await this.owner.prepare(this);
  }
}

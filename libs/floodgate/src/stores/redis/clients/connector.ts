import { connect, isIP, Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { afterLoopTime, withinLoopTime } from '../../loop-timer.js';
import { clearTimeout, setTimeout } from '../../../util/real-timers.js';
import { shown } from '../../../util/config-error.js';
import { addressesOf, answerWith } from './lookup.js';

/** The ioredis options for the target of a connection and its time limits. */
export interface ConnectorOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly family?: number;
  readonly tls?: ConnectionOptions;
  readonly connectTimeout?: number;
  readonly disconnectTimeout?: number;
  /** Milliseconds that the lookup may take; default `connectTimeout`. */
  readonly lookupTimeout?: number;
  /** The connections of the client, which may have some that it does not show: to Sentinels, and to a Cluster's nodes for their slots. */
  readonly connections?: ClientConnections;
}

/** The connections of one client, which end together. */
export class ClientConnections {
  private readonly open = new Set<PingingConnector>();
  private isEnded = false;

  add(connector: PingingConnector): void {
    if (this.isEnded) connector.destroy();
    else this.open.add(connector);
  }

  delete(connector: PingingConnector): void {
    this.open.delete(connector);
  }

  destroy(): void {
    this.isEnded = true;
    for (const connector of this.open) connector.destroy();
  }
}

/** How long a connection may take until it answers. A silent one is then replaced: its packets may have been lost. */
export const CONNECT_MS = 2_000;
const DEFAULT_DISCONNECT_TIMEOUT_MS = 200;

/** What ioredis says of a connection that was ended meanwhile. */
const CANCELLED = 'Connection is closed.';
const PING = '*1\r\n$4\r\nPING\r\n';
/** A server that sends a longer reply line is no Redis. */
const MAX_REPLY = 512;
/** Replies with which Redis rejects a connection. Any other reply, NOAUTH too, shows that Redis answers. */
const REJECTED = /^-(DENIED|ERR max number of clients)/;

/** Milliseconds until the first answer, by connection. */
const firstAnswers = new WeakMap<object, number>();

/** Milliseconds until the first answer of a connection that `PingingConnector` opened; 0 for others. */
export function firstAnswerMs(stream: object | undefined): number {
  return (stream && firstAnswers.get(stream)) ?? 0;
}

/**
 * Opens connections for ioredis, as its option `Connector`. It hands over a connection after Redis has answered a PING on it.
 *
 * The lookup of the name comes first, with a `connectTimeout` of its own. A lookup that hangs is not repeated.
 */
export class PingingConnector {
  /** The error that ioredis reports when it gets a destroyed stream. */
  firstError: Error | undefined;
  private attempt: Attempt | undefined;
  private stream: Socket | undefined;
  private ending: Socket | undefined;

  constructor(private readonly options: ConnectorOptions) {}

  /** Whether the server that INFO describes is the right one. There is only one. */
  check(): boolean {
    return true;
  }

  /** Resolves to a destroyed stream when the connection does not answer: ioredis then tries again. After a rejection it would not. */
  async connect(): Promise<Socket> {
    const { connections } = this.options;
    const attempt = new Attempt(this.options);
    this.attempt = attempt;
    connections?.add(this);
    try {
      this.stream = await attempt.stream();
      this.stream.on('error', (error) => (this.firstError = error));
      this.stream.once('close', () => connections?.delete(this));
      return this.stream;
    } catch (error) {
      connections?.delete(this);
      if (attempt.cancelled) throw error;
      this.firstError = error as Error;
      return new Socket().destroy();
    }
  }

  /** Closes the connection, or ends the attempt, at once. */
  destroy(): void {
    this.attempt?.cancel();
    this.stream?.destroy();
  }

  disconnect(): void {
    this.attempt?.cancel();
    const { stream } = this;
    // ioredis calls this once for each READONLY reply of a batch.
    if (stream === undefined || stream.destroyed || stream === this.ending) return;
    this.ending = stream;
    const { disconnectTimeout = DEFAULT_DISCONNECT_TIMEOUT_MS } = this.options;
    const timer = setTimeout(() => stream.destroy(), disconnectTimeout);
    stream.once('close', () => clearTimeout(timer));
    stream.end();
  }
}

/** One attempt to connect. */
class Attempt {
  cancelled = false;
  private readonly timeoutMs: number;
  private failed: ((error: Error) => void) | undefined;

  constructor(private readonly options: ConnectorOptions) {
    // A URL gives numbers as text.
    this.timeoutMs = Number(options.connectTimeout) || CONNECT_MS;
  }

  /** @throws {Error} when the connection does not answer within `connectTimeout`, or the server rejects it */
  async stream(): Promise<Socket> {
    const target = await this.target();
    if (this.cancelled) throw new Error(CANCELLED);
    const socket = this.options.tls ? connectTls(target as ConnectionOptions) : connect(target);
    let cancelTimeout: (() => void) | undefined;
    try {
      await new Promise<void>((answered, failed) => {
        this.failed = failed;
        this.ping(socket, answered, failed);
        const give = (): void =>
          failed(new Error(`Redis did not answer on the connection within ${this.timeoutMs} ms`));
        cancelTimeout = afterLoopTime(this.timeoutMs, give);
      });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      cancelTimeout?.();
    }
  }

  cancel(): void {
    this.cancelled = true;
    this.failed?.(new Error(CANCELLED));
  }

  /** The target of the connection, with its name looked up. */
  private async target(): Promise<TcpNetConnectOpts> {
    const { path, host, port, family = 0, tls } = this.options;
    // ioredis merges them in this order, too: `tls` may name another host, or a lookup of its own.
    const target = {
      ...(path ? { path } : { host: host || 'localhost', port: port || 6379, family }),
      ...tls,
    } as TcpNetConnectOpts;
    if ('path' in target || target.lookup !== undefined || isIP(target.host ?? '') !== 0) return target;
    const lookup = addressesOf(target.host!, target.family);
    const addresses = await withinLoopTime(this.options.lookupTimeout ?? this.timeoutMs, lookup).catch(
      (error: Error) => {
        throw error.message.startsWith('no answer within')
          ? new Error(`the lookup of Redis's name gave ${error.message}`)
          : error;
      },
    );
    return { ...target, lookup: answerWith(addresses) as TcpNetConnectOpts['lookup'] };
  }

  private ping(socket: Socket, answered: () => void, failed: (error: Error) => void): void {
    const since = performance.now();
    let reply = '';
    const heard = (bytes: Buffer): void => {
      reply += bytes.toString('latin1');
      const end = reply.indexOf('\r\n');
      if (end < 0 && reply.length < MAX_REPLY) return;
      socket.off('data', heard);
      const line = reply.slice(0, end < 0 ? MAX_REPLY : end);
      if (end < 0 || !/^[-+]/.test(line))
        return void socket.destroy(new Error(`the server is no Redis: it answers ${shown(line)}`));
      if (REJECTED.test(line)) return void socket.destroy(new Error(line.slice(1)));
      // ioredis resumes the socket when it listens.
      socket.pause();
      if (end + 2 < reply.length) socket.unshift(Buffer.from(reply.slice(end + 2), 'latin1'));
      firstAnswers.set(socket, performance.now() - since);
      answered();
    };
    let failure = new Error('the connection was closed');
    socket.once(this.options.tls ? 'secureConnect' : 'connect', () => socket.write(PING));
    socket.on('data', heard);
    socket.on('error', (error) => (failure = error));
    socket.once('close', () => failed(failure));
  }
}

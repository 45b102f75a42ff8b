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
  readonly connections?: Connections;
}

/** The connections of one client, which end together. */
export class Connections {
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

/** Milliseconds until a second connection is tried beside a silent one. Doubled for each further one, up to the maximum. */
const FIRST_PATIENCE_MS = 250;
const MAX_PATIENCE_MS = 1000;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_DISCONNECT_TIMEOUT_MS = 200;

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
 * A silent connection is kept, and further ones are tried beside it: after 250 ms, after another 500, then once a second. The
 * first one that answers is used. So a slow first answer has all of `connectTimeout`, and a lost connection is replaced
 * within a second.
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

  /** Resolves to a destroyed stream when no connection answers: ioredis then tries again. After a rejection it would not. */
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

/** One attempt to connect: opens connections to a server until one of them answers. */
class Attempt {
  cancelled = false;
  private readonly timeoutMs: number;
  private readonly open = new Set<Socket>();
  /** The connection that is tried beside the first one. */
  private spare: Socket | undefined;
  private cancelHedge: (() => void) | undefined;
  private answered: ((socket: Socket) => void) | undefined;
  private failed: ((error: Error) => void) | undefined;

  constructor(private readonly options: ConnectorOptions) {
    // A URL gives numbers as text.
    this.timeoutMs = Number(options.connectTimeout) || DEFAULT_CONNECT_TIMEOUT_MS;
  }

  /** @throws {Error} when no connection answers within `connectTimeout`, or the server rejects it */
  async stream(): Promise<Socket> {
    const target = await this.target();
    let cancelTimeout: (() => void) | undefined;
    let answering: Socket | undefined;
    try {
      answering = await new Promise<Socket>((resolve, reject) => {
        this.answered = resolve;
        this.failed = reject;
        if (this.cancelled) return this.cancel();
        this.connect(target);
        this.hedge(target, FIRST_PATIENCE_MS);
        const give = (): void =>
          reject(new Error(`Redis did not answer on the connection within ${this.timeoutMs} ms`));
        cancelTimeout = afterLoopTime(this.timeoutMs, give);
      });
      return answering;
    } finally {
      cancelTimeout?.();
      this.cancelHedge?.();
      for (const socket of this.open) if (socket !== answering) socket.destroy();
    }
  }

  cancel(): void {
    this.cancelled = true;
    this.failed?.(new Error('Connection is closed.'));
  }

  /** The target of the connections, with its name looked up. */
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

  /** Tries another connection while all are silent. The first one is kept, since it may only be slow. */
  private hedge(target: TcpNetConnectOpts, patienceMs: number): void {
    const again = (): void => {
      this.spare?.destroy();
      this.spare = this.connect(target);
      this.hedge(target, Math.min(MAX_PATIENCE_MS, 2 * patienceMs));
    };
    this.cancelHedge = afterLoopTime(patienceMs, again);
  }

  private connect(target: TcpNetConnectOpts): Socket {
    const since = performance.now();
    const socket = this.options.tls ? connectTls(target as ConnectionOptions) : connect(target);
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
      this.answered?.(socket);
    };
    let failure = new Error('the connection was closed');
    socket.once(this.options.tls ? 'secureConnect' : 'connect', () => socket.write(PING));
    socket.on('data', heard);
    socket.on('error', (error) => (failure = error));
    socket.once('close', () => {
      this.open.delete(socket);
      if (this.open.size === 0) this.failed?.(failure);
    });
    this.open.add(socket);
    return socket;
  }
}

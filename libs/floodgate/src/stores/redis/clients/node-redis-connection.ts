import { setTimeout as delay } from 'node:timers/promises';
import { withinLoopTime } from '../../loop-timer.js';
import { clearTimeout, setTimeout } from '../../../util/real-timers.js';
import { backoff } from './backoff.js';
import type { ConnectionSocket, OwnedClient } from './client.js';
import { ConnectionError, isErrorReply } from './client-failure.js';
import { AS_SENT, type NodeRedis, NodeRedisBase } from './node-redis.js';
import { inOurWords } from './node-redis-failure.js';

/** Milliseconds until a server that still reads its data is asked again. */
const LOADING_MS = 100;
/** Milliseconds that a server may take to tell what others know as well, and that the first of them may take to connect. */
const ASK_MS = 1000;

/** node-redis does not show its socket: each answer counts as a byte. */
interface Link extends ConnectionSocket {
  bytesRead: number;
  connecting: boolean;
  destroyed: boolean;
  /** Undefined until the address is known. */
  client: NodeRedis | undefined;
}

/**
 * A connection to one server, which is opened again whenever it is lost: by another client each time. node-redis would open it again by
 * itself, but not one that has fallen silent, nor before version 6 one that is lost while it introduces itself; and its wait for the next
 * attempt outlasts `destroy`.
 */
export class NodeRedisConnection extends NodeRedisBase implements OwnedClient {
  readonly cluster = undefined;
  private link: Link | undefined;
  /** The attempt that is under way. */
  private attempt: Promise<void> | undefined;
  private attempts = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param make makes the client of the next connection, whose sockets end with the signal. It may have to ask for the address first. */
  constructor(
    private readonly make: (signal: AbortSignal) => NodeRedis | Promise<NodeRedis>,
    keyPrefix = '',
    readonly database = 0,
  ) {
    super(keyPrefix);
  }

  get socket(): ConnectionSocket | undefined {
    return this.link?.client && this.link;
  }

  /** Connects, and again whenever the connection is lost. Rejects when the attempt that is under way fails. */
  connect(): Promise<void> {
    if (this.state === 'ready') return Promise.resolve();
    if (this.state === 'ended') return Promise.reject(closed());
    return (this.attempt ??= this.open().finally(() => (this.attempt = undefined)));
  }

  /** Sends a command, unless the connection is not ready: then nothing is sent. */
  send(args: readonly string[]): Promise<unknown> {
    if (this.state === 'ready') return this.write(this.link!, args);
    return Promise.reject(new ConnectionError('there is no connection to Redis', undefined, true));
  }

  override failureOf(thrown: unknown): Error {
    const failure = super.failureOf(thrown);
    // The master was demoted: behind its name another server may answer.
    if (failure.message.startsWith('READONLY')) this.link?.destroy(failure);
    return failure;
  }

  async close(): Promise<void> {
    if (this.state === 'ready') await this.link?.client?.close();
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.become('ended');
    this.link?.destroy(closed());
  }

  private open(): Promise<void> {
    clearTimeout(this.timer);
    return new Promise((resolve, reject) => {
      const aborter = new AbortController();
      const destroy = (error: Error): void => {
        if (link.destroyed) return;
        link.destroyed = true;
        // First: calls that fail now find a connection that is known to be lost.
        this.lost(error);
        reject(inOurWords(error));
        try {
          link.client?.destroy();
        } catch {
          // node-redis 5 throws when the connection is lost already.
        }
        // node-redis leaves a socket alone that is still connecting.
        aborter.abort(error);
      };
      const link: Link = { bytesRead: 0, connecting: true, destroyed: false, client: undefined, destroy };
      this.link = link;
      this.become('connecting');
      this.dial(link, aborter.signal).then(resolve, destroy);
    });
  }

  private async dial(link: Link, signal: AbortSignal): Promise<void> {
    const client = await this.make(signal);
    if (link.destroyed) return;
    link.client = client;
    // Without a listener, an `error` event ends the process. Each of them means that the connection is lost.
    client.on('error', (error) => link.destroy(error));
    client.on('connect', () => {
      link.connecting = false;
      if (!link.destroyed) this.become('connected');
    });
    await client.connect();
    link.bytesRead++;
    const isLoading = async (): Promise<boolean> =>
      String(await this.write(link, ['INFO', 'persistence']).catch(() => '')).includes('loading:1');
    while (!link.destroyed && (await isLoading())) await delay(LOADING_MS, undefined, { ref: false });
    // A refusal is reported by those who ask whether the database is the right one: see `expectDatabase`.
    if (this.database !== 0) await this.write(link, ['SELECT', String(this.database)]).catch(() => undefined);
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- it may be lost meanwhile
    if (link.destroyed) return;
    this.attempts = 0;
    this.become('ready');
  }

  private write(link: Link, args: readonly string[]): Promise<unknown> {
    const answer = link.client!.sendCommand(args, AS_SENT);
    const heard = (): void => void link.bytesRead++;
    answer.then(heard, heard);
    return answer;
  }

  private lost(error: Error): void {
    this.link = undefined;
    if (this.state === 'ended') return;
    // A server that closes a connection says nothing else by it than the state `closed` does.
    if (!error.message.startsWith('Socket closed unexpectedly')) this.events.emit('failure', inOurWords(error));
    this.timer = setTimeout(() => void this.connect().catch(() => undefined), backoff(++this.attempts));
    this.become('closed');
  }
}

/**
 * Asks servers one after the other, the connected ones, until `read` finds an answer. Where none is connected, all of them are, and the
 * first one is waited for. One that falls silent is connected again.
 *
 * @throws {Error} the last failure
 */
export async function askAny<T>(
  servers: readonly NodeRedisConnection[],
  args: readonly string[],
  read: (reply: unknown, server: NodeRedisConnection) => T,
): Promise<T> {
  let problem = new Error('no server was given');
  const isReady = ({ state }: NodeRedisConnection): boolean => state === 'ready';
  if (!servers.some(isReady)) {
    const first = Promise.any(servers.map((server) => server.connect()));
    await withinLoopTime(ASK_MS, first).catch((error: Error) => {
      problem = error instanceof AggregateError ? (error.errors[0] ?? problem) : error;
    });
  }
  for (const server of servers.filter(isReady)) {
    try {
      const { socket } = server;
      const reply = await withinLoopTime(ASK_MS, server.send(args)).catch((error: unknown) => {
        const failure = inOurWords(error);
        if (!isErrorReply(failure)) socket?.destroy(failure);
        throw failure;
      });
      return read(reply, server);
    } catch (error) {
      problem = error as Error;
    }
  }
  throw problem;
}

function closed(): ConnectionError {
  return new ConnectionError('the connection to Redis is closed', undefined, true);
}

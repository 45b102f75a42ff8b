import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from './backoff.js';
import type { ConnectionSocket, ConnectionState, RedisConnection } from './client.js';
import { ConnectionError } from './client-failure.js';
import { programCommand, type NodeRedis, type NodeRedisSocket } from './node-redis.js';
import { failureOfCall, inOurWords } from './node-redis-failure.js';
import { type LinkOwner, NodeRedisLink } from './node-redis-link.js';

/** Milliseconds until a server that still reads its data is asked again. */
const LOADING_MS = 100;

export interface NodeRedisConnectionSettings {
  /** Makes the client of the next connection, with `link.socketOf` as its option `socket`. */
  make(link: NodeRedisLink): NodeRedis | Promise<NodeRedis>;
  /** Checks a connection before it is used: rejects if it must not be. */
  check?(link: NodeRedisLink): Promise<unknown>;
  readonly keyPrefix: string;
  readonly database: number;
  readonly reconnectStrategy: NodeRedisSocket['reconnectStrategy'];
}

/** A connection of node-redis that the store opened, and opens again whenever it is lost. */
export class NodeRedisConnection implements RedisConnection, LinkOwner {
  state: ConnectionState = 'closed';
  readonly isProbed = false;
  readonly firstAnswerMs = 0;
  readonly keyPrefix: string;
  readonly writesLater = true;
  private link: NodeRedisLink | undefined;
  private readonly stateListeners: ((state: ConnectionState) => void)[] = [];
  private readonly errorListeners: ((error: Error) => void)[] = [];
  /** Those that wait for the next connection, or for the end of the attempt. */
  private waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  private attempts = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly settings: NodeRedisConnectionSettings) {
    this.keyPrefix = settings.keyPrefix;
  }

  get socket(): ConnectionSocket | undefined {
    const { link } = this;
    return link?.client === undefined || link.isLookingUp ? undefined : link;
  }

  onState(listener: (state: ConnectionState) => void): void {
    this.stateListeners.push(listener);
  }

  onError(listener: (error: Error) => void): void {
    this.errorListeners.push(listener);
  }

  /** Connects, and again whenever the connection is lost. Rejects when the first attempt fails. */
  connect(): Promise<void> {
    const connected = this.ready();
    if (this.link === undefined) this.open();
    return connected;
  }

  /** Resolves when the connection is ready, and rejects when the attempt that is under way fails. */
  ready(): Promise<void> {
    if (this.state === 'ready') return Promise.resolve();
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Sends a command, unless the connection is not ready: then nothing is sent. */
  send(args: readonly string[]): Promise<unknown> {
    if (this.state === 'ready') return this.link!.send(args);
    return Promise.reject(new ConnectionError('there is no connection to Redis', undefined, true));
  }

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.send(programCommand('EVALSHA', sha1, keys, args, this.keyPrefix));
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.send(programCommand('EVAL', text, keys, args, this.keyPrefix));
  }

  failureOf(thrown: unknown): Error {
    const failure = failureOfCall(thrown);
    // The master was demoted: behind its name another server may answer.
    if (failure.message.startsWith('READONLY')) this.link?.destroy(failure);
    return failure;
  }

  async close(): Promise<void> {
    await this.link?.close();
  }

  /** Replaces the connection: the server is not the one to be used any more. */
  replace(error: Error): void {
    this.link?.destroy(error);
  }

  destroy(): void {
    clearTimeout(this.timer);
    if (this.state === 'ended') return;
    const { link } = this;
    this.link = undefined;
    this.become('ended');
    const error = new ConnectionError('the connection to Redis is closed', undefined, true);
    link?.destroy(error);
    this.settle((one) => one.reject(error));
  }

  make(link: NodeRedisLink): NodeRedis | Promise<NodeRedis> {
    return this.settings.make(link);
  }

  connected(link: NodeRedisLink): void {
    if (link === this.link) this.become('connected');
  }

  /** Chooses the database, and waits until the server has read its data. */
  async prepare(link: NodeRedisLink): Promise<void> {
    const { database } = this.settings;
    const answers: Promise<unknown>[] = [ping(link)];
    // A refusal is reported by those who ask whether the database is the right one: see `expectDatabase`.
    if (database !== 0) answers.push(link.send(['SELECT', String(database)]).catch(() => undefined));
    await Promise.all(answers);
    await this.settings.check?.(link);
  }

  ended(link: NodeRedisLink, error: Error): void {
    if (link !== this.link) return;
    this.link = undefined;
    const words = inOurWords(error);
    // A server that closes a connection says nothing else by it than the state `closed` does.
    if (!error.message.startsWith('Socket closed unexpectedly')) for (const listener of this.errorListeners) listener(words);
    this.become('closed');
    this.settle((one) => one.reject(words));
    if (this.state !== 'closed') return;
    this.timer = setTimeout(() => this.open(), this.retryMs(++this.attempts, error));
  }

  private open(): void {
    if (this.state === 'ended' || this.link !== undefined) return;
    const link = (this.link = new NodeRedisLink(this));
    this.become('connecting');
    link.open().then(
      () => {
        if (link !== this.link) return;
        this.attempts = 0;
        this.become('ready');
        this.settle((one) => one.resolve());
      },
      () => undefined, // `ended` was called
    );
  }

  private become(state: ConnectionState): void {
    this.state = state;
    for (const listener of this.stateListeners) listener(state);
  }

  private settle(how: (one: (typeof this.waiting)[number]) => void): void {
    const { waiting } = this;
    this.waiting = [];
    for (const one of waiting) how(one);
  }

  /** The application's own delay. Its end is replaced by a back-off: the process would not use Redis again until it restarts. */
  private retryMs(attempt: number, cause: Error): number {
    const { reconnectStrategy } = this.settings;
    if (typeof reconnectStrategy === 'number') return reconnectStrategy;
    if (typeof reconnectStrategy !== 'function') return backoff(attempt);
    try {
      const ms = reconnectStrategy(attempt - 1, cause);
      return typeof ms === 'number' && ms >= 0 ? ms : backoff(attempt);
    } catch {
      return backoff(attempt);
    }
  }
}

/** Any other reply than that of a server which reads its data will do: a user may lack the right to PING. */
async function ping(link: NodeRedisLink): Promise<void> {
  for (;;) {
    try {
      return void (await link.send(['PING']));
    } catch (error) {
      if (!(error as Error).message.startsWith('LOADING') || link.destroyed) return;
    }
    await delay(LOADING_MS, undefined, { ref: false });
  }
}

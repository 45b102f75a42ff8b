import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from './backoff.js';
import type { ConnectionSocket, ConnectionState, RedisConnection } from './client.js';
import { ConnectionError } from './client-failure.js';
import { programCommand, type NodeRedis, type NodeRedisSocket } from './node-redis.js';
import { failureOfCall, inOurWords } from './node-redis-failure.js';
import { type DialOwner, NodeRedisDial } from './node-redis-dial.js';
import type { NodeRedisLink } from './node-redis-link.js';

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
export class NodeRedisConnection implements RedisConnection, DialOwner {
  state: ConnectionState = 'closed';
  readonly isProbed = true;
  firstAnswerMs = 0;
  readonly keyPrefix: string;
  readonly writesLater = true;
  /** The attempt that is under way. */
  private dial: NodeRedisDial | undefined;
  /** The connection on which Redis has answered. */
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
    return this.link;
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
    this.open();
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
    return this.send(programCommand('evalsha', sha1, keys, args, this.keyPrefix));
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.send(programCommand('eval', text, keys, args, this.keyPrefix));
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
    const { dial, link } = this;
    this.dial = this.link = undefined;
    this.become('ended');
    const error = new ConnectionError('the connection to Redis is closed', undefined, true);
    dial?.destroy(error);
    link?.destroy(error);
    this.settle((one) => one.reject(error));
  }

  make(link: NodeRedisLink): NodeRedis | Promise<NodeRedis> {
    return this.settings.make(link);
  }

  answered(link: NodeRedisLink, ms: number): void {
    if (this.dial === undefined) return;
    this.dial = undefined;
    this.link = link;
    this.firstAnswerMs = ms;
    this.become('connected');
    this.prepare(link).then(
      () => this.prepared(link),
      (error: Error) => link.destroy(error),
    );
  }

  failed(error: Error): void {
    if (this.dial === undefined) return;
    this.dial = undefined;
    this.lost(error);
  }

  ended(link: NodeRedisLink, error: Error): void {
    if (link !== this.link) return;
    this.link = undefined;
    this.lost(error);
  }

  private open(): void {
    if (this.state === 'ended' || this.dial !== undefined || this.link !== undefined) return;
    clearTimeout(this.timer);
    this.dial = new NodeRedisDial(this);
    this.become('connecting');
    this.dial.start();
  }

  /** Waits until the server has read its data, and chooses the database. */
  private async prepare(link: NodeRedisLink): Promise<void> {
    const { database } = this.settings;
    for (let told = link.persistence; told.includes('loading:1') && !link.destroyed;) {
      await delay(LOADING_MS, undefined, { ref: false });
      told = String(await link.send(['INFO', 'persistence']).catch(() => ''));
    }
    // A refusal is reported by those who ask whether the database is the right one: see `expectDatabase`.
    if (database !== 0) await link.send(['SELECT', String(database)]).catch(() => undefined);
    await this.settings.check?.(link);
  }

  private prepared(link: NodeRedisLink): void {
    if (link !== this.link) return;
    this.attempts = 0;
    this.become('ready');
    this.settle((one) => one.resolve());
  }

  private lost(error: Error): void {
    const words = inOurWords(error);
    // A server that closes a connection says nothing else by it than the state `closed` does.
    if (!error.message.startsWith('Socket closed unexpectedly')) {
      for (const listener of this.errorListeners) listener(words);
    }
    this.become('closed');
    this.settle((one) => one.reject(words));
    if (this.state !== 'closed') return;
    this.timer = setTimeout(() => this.open(), this.retryMs(++this.attempts, error));
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

import { setTimeout as delay } from 'node:timers/promises';
import { slotOf } from '../../slots.js';
import { withinLoopTime } from '../../loop-timer.js';
import type { ConnectionSocket, ConnectionState, OwnedClient } from './client.js';
import { ConnectionError } from './client-failure.js';
import { type MakeNodeRedis, type NodeRedisClusterOptions, prefixOf } from './node-redis.js';
import type { NodeRedisConnection } from './node-redis-connection.js';
import { failureOfCall } from './node-redis-failure.js';
import { NodeRedisNodes } from './node-redis-nodes.js';

const MAX_REDIRECTIONS = 5;
/** Milliseconds until a call is sent again whose keys are on their way to another node: nothing was run. As long as ioredis takes. */
export const TRY_AGAIN_MS = 100;
/** Milliseconds that a redirection waits for a node that is not connected yet. */
const REDIRECTION_MS = 1000;
/** Milliseconds that the first connection waits for all nodes: one of them may be silent. */
const ALL_MS = 500;

/**
 * A Cluster by connections that the store opens: a `createCluster` waits without end for a node that does not come back, and would
 * send nothing meanwhile.
 */
export class NodeRedisCluster implements OwnedClient {
  state: ConnectionState = 'closed';
  readonly cluster: NodeRedisNodes;
  readonly keyPrefix: string;
  readonly writesLater = true;
  readonly database = 0;
  readonly socket: ConnectionSocket | undefined;
  readonly isProbed = false;
  readonly firstAnswerMs = 0;
  private readonly stateListeners: ((state: ConnectionState) => void)[] = [];
  private readonly errorListeners: ((error: Error) => void)[] = [];
  /** Whether all nodes have been waited for. */
  private isOpen = false;

  constructor(options: NodeRedisClusterOptions, make: MakeNodeRedis) {
    this.keyPrefix = prefixOf(options.keyPrefix);
    this.cluster = new NodeRedisNodes(options, make, {
      changed: () => this.changed(),
      failed: (error) => {
        if (this.state !== 'ready') for (const listener of this.errorListeners) listener(error);
        this.changed();
      },
    });
  }

  onState(listener: (state: ConnectionState) => void): void {
    this.stateListeners.push(listener);
  }

  onError(listener: (error: Error) => void): void {
    this.errorListeners.push(listener);
  }

  async connect(): Promise<void> {
    this.become('connecting');
    try {
      await this.cluster.read();
      const connections = this.cluster.all();
      const all = Promise.allSettled(connections.map((connection) => connection.ready()));
      await withinLoopTime(ALL_MS, all).catch(() => undefined);
      if (!connections.some(({ state }) => state === 'ready')) await Promise.any(connections.map((one) => one.ready()));
    } finally {
      this.isOpen = true;
      this.changed();
    }
  }

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.route(args[0]!, (connection) => connection.runByHash(sha1, keys, args));
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.route(args[0]!, (connection) => connection.runByText(text, keys, args));
  }

  failureOf(thrown: unknown): Error {
    return failureOfCall(thrown);
  }

  del(key: string): Promise<unknown> {
    return this.route(key, (connection) => connection.send(['DEL', `${this.keyPrefix}${key}`]));
  }

  async select(): Promise<unknown> {
    return undefined;
  }

  async info(section: string): Promise<string> {
    return String(await this.any(['INFO', section]));
  }

  time(): Promise<unknown> {
    return this.any(['TIME']);
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.cluster.all().map((connection) => connection.close()));
  }

  destroy(): void {
    this.cluster.close();
    this.become('ended');
  }

  /** Sends a call to the node that has the key's slot, and where that node sends it. */
  private async route(key: string, call: (connection: NodeRedisConnection) => Promise<unknown>): Promise<unknown> {
    const slot = slotOf(`${this.keyPrefix}${key}`);
    const node = this.cluster.masterOf(slot);
    let connection = node === undefined ? undefined : this.cluster.connectionOf(node);
    if (connection === undefined) {
      throw new ConnectionError('no node of the Redis Cluster has the slot of the key', undefined, true);
    }
    let isAsking = false;
    for (let redirections = 0; ; redirections++) {
      try {
        if (redirections > 0) await withinLoopTime(REDIRECTION_MS, connection.ready());
        // Both are written in one turn, one after the other.
        if (isAsking) connection.send(['ASKING']).catch(() => undefined);
        return await call(connection);
      } catch (error) {
        const failure = connection.failureOf(error);
        if (failure.message.startsWith('TRYAGAIN') && redirections < MAX_REDIRECTIONS) {
          await delay(TRY_AGAIN_MS);
          continue;
        }
        const [, kind, address] = /^(MOVED|ASK) \d+ (\S+)/.exec(failure.message) ?? [];
        if (address === undefined) throw failure;
        if (redirections === MAX_REDIRECTIONS) {
          throw new ConnectionError('the nodes of the Redis Cluster redirect the call without end', error, false);
        }
        // A node that does not know its own host names none.
        const next = address.startsWith(':') ? `${node!.slice(0, node!.lastIndexOf(':'))}${address}` : address;
        isAsking = kind === 'ASK';
        if (!isAsking) this.cluster.moved(slot, next);
        connection = this.cluster.open(next);
      }
    }
  }

  private async any(args: readonly string[]): Promise<unknown> {
    const connection = this.cluster.all().find(({ state }) => state === 'ready');
    if (connection === undefined)
      throw new ConnectionError('no node of the Redis Cluster is connected', undefined, true);
    try {
      return await connection.send(args);
    } catch (error) {
      throw connection.failureOf(error);
    }
  }

  private changed(): void {
    if (!this.isOpen || this.state === 'ended') return;
    this.become(this.cluster.all().some(({ state }) => state === 'ready') ? 'ready' : 'closed');
  }

  private become(state: ConnectionState): void {
    if (state === this.state) return;
    this.state = state;
    for (const listener of this.stateListeners) listener(state);
  }
}

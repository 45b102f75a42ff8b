import { setTimeout as delay } from 'node:timers/promises';
import { endedWithin, withinLoopTime } from '../../loop-timer.js';
import { SLOTS, slotOf } from '../../slots.js';
import { clearTimeout, setTimeout } from '../../../util/real-timers.js';
import { backoff } from './backoff.js';
import type { ClusterMap, OwnedClient, RedisConnection } from './client.js';
import { ConnectionError } from './client-failure.js';
import {
  type Address,
  type CreateClient,
  mapped,
  NodeRedisBase,
  type NodeRedisOptions,
  prefixOf,
  promised,
} from './node-redis.js';
import { askAny, NodeRedisConnection } from './node-redis-connection.js';

const MAX_AGAIN = 5;
/** Milliseconds until a call is sent again whose keys are on their way to another node: nothing was run. As long as ioredis takes. */
const TRY_AGAIN_MS = 100;
/** Milliseconds that a redirection waits for a node that is not connected yet. */
const REDIRECTION_MS = 1000;
/** Milliseconds that the first connection waits for all nodes: one of them may be silent. */
const ALL_MS = 500;

/** What is used of the options of `createCluster`. */
export interface NodeRedisClusterOptions extends NodeRedisOptions {
  readonly rootNodes: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions;
}

/**
 * A Cluster by a connection to each master. A `createCluster` waits without end for a node that is silent, and version 5 does not ask the
 * others when one of them has gone.
 */
export class NodeRedisCluster extends NodeRedisBase implements OwnedClient, ClusterMap {
  readonly cluster = this;
  readonly socket = undefined;
  readonly database = 0;
  /** The nodes that the application has named, by host and port. */
  private readonly roots: ReadonlyMap<string, NodeRedisOptions>;
  private readonly nodes = new Map<string, NodeRedisConnection>();
  /** The node of each slot. */
  private slots: (string | undefined)[] = [];
  private reading: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: NodeRedisClusterOptions,
    private readonly create: CreateClient,
  ) {
    super(prefixOf(options.keyPrefix));
    this.roots = new Map(options.rootNodes.map((root) => [nameOf(root), root]));
  }

  masterOf(slot: number): string | undefined {
    return this.slots[slot];
  }

  masters(): ReadonlySet<string> {
    return new Set(this.slots.filter((node) => node !== undefined));
  }

  connectionOf(node: string): RedisConnection | undefined {
    return this.nodes.get(node);
  }

  onConnection(listener: (connection: RedisConnection) => void): void {
    this.events.on('connection', listener);
  }

  onSlots(listener: () => void): void {
    this.events.on('slots', listener);
  }

  refresh(): void {
    void this.read().catch(() => undefined);
  }

  async connect(): Promise<void> {
    this.become('connecting');
    try {
      await this.read();
      const all = [...this.nodes.values()].map((connection) => connection.connect());
      await endedWithin(ALL_MS, Promise.allSettled(all));
    } finally {
      this.become(this.isUsable() ? 'ready' : 'closed');
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.nodes.values()].map((connection) => connection.close()));
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.become('ended');
    for (const connection of this.nodes.values()) connection.destroy();
  }

  /** Sends a command to the node that has the key's slot, and where that node sends it. */
  async send(args: readonly string[], key: string | undefined): Promise<unknown> {
    const slot = key === undefined ? -1 : slotOf(key);
    let node = key === undefined ? this.anyReady() : this.slots[slot];
    if (node === undefined) {
      throw new ConnectionError('no node of the Redis Cluster has the slot of the key', undefined, true);
    }
    let isAsking = false;
    for (let again = 0; ; again++) {
      const connection = this.open(node);
      try {
        if (again > 0) await withinLoopTime(REDIRECTION_MS, connection.connect());
        // Both are written in one turn, one after the other.
        if (isAsking) connection.send(['ASKING']).catch(() => undefined);
        return await connection.send(args);
      } catch (error) {
        const failure = connection.failureOf(error);
        const [redirected, kind, address] = /^(?:TRYAGAIN|(MOVED|ASK) \d+ (\S+))/.exec(failure.message) ?? [];
        if (redirected === undefined) throw failure;
        if (again === MAX_AGAIN) {
          throw new ConnectionError('the nodes of the Redis Cluster redirect the call without end', error, false);
        }
        if (address === undefined) {
          await delay(TRY_AGAIN_MS);
          continue;
        }
        // A node that does not know its own host names none.
        node = address.startsWith(':') ? `${addressOf(node).host}${address}` : address;
        isAsking = kind === 'ASK';
        if (isAsking) continue;
        this.slots[slot] = node;
        this.refresh();
      }
    }
  }

  private anyReady(): string | undefined {
    return [...this.nodes].find(([, { state }]) => state === 'ready')?.[0];
  }

  private isUsable(): boolean {
    return this.slots.length > 0 && this.anyReady() !== undefined;
  }

  /** The connection to a node, perhaps a new one. The Cluster puts the prefix before keys. */
  private open(node: string): NodeRedisConnection {
    const known = this.nodes.get(node);
    if (known !== undefined) return known;
    const { defaults, nodeAddressMap } = this.options;
    const root = this.roots.get(node);
    const socket = root === undefined ? mapped(nodeAddressMap, addressOf(node)) : root.socket;
    const given = { ...defaults, url: undefined, ...root, socket: { ...defaults?.socket, ...socket } };
    const connection = new NodeRedisConnection((signal) => this.create(promised(given, signal)));
    this.nodes.set(node, connection);
    connection.onState((state) => {
      // Another node may have the slots now.
      if (state === 'closed') this.refresh();
      this.changed();
    });
    connection.onError((error) => this.failed(error));
    this.events.emit('connection', connection);
    if (this.state === 'ended') connection.destroy();
    connection.connect().catch(() => undefined);
    return connection;
  }

  /** Reads which slots the nodes have. Rejects when no node tells, and tries again. */
  private read(): Promise<void> {
    return (this.reading ??= this.readOnce().finally(() => (this.reading = undefined)));
  }

  private async readOnce(): Promise<void> {
    clearTimeout(this.timer);
    if (this.anyReady() === undefined) for (const root of this.roots.keys()) this.open(root);
    const names = new Map([...this.nodes].map(([node, connection]) => [connection, node]));
    const servers = [...names.keys()].toSorted(() => Math.random() - 0.5);
    try {
      const slots = await askAny(servers, ['CLUSTER', 'SLOTS'], (reply, server) =>
        slotsOf(reply, addressOf(names.get(server)!).host),
      );
      if (this.state !== 'ended') this.replace(slots);
    } catch (cause) {
      const why = `no node of the Redis Cluster said which slots it has: ${(cause as Error).message}`;
      const error = new ConnectionError(why, cause, false);
      if (this.state !== 'ended') this.timer = setTimeout(() => this.refresh(), backoff(Infinity));
      this.failed(error);
      throw error;
    }
  }

  private replace(slots: (string | undefined)[]): void {
    this.slots = slots;
    const masters = this.masters();
    for (const node of masters) this.open(node);
    for (const [node, connection] of this.nodes) {
      if (masters.has(node)) continue;
      this.nodes.delete(node);
      connection.destroy();
    }
    this.events.emit('slots');
    this.changed();
  }

  private failed(error: Error): void {
    if (this.state !== 'ready') this.events.emit('failure', error);
  }

  private changed(): void {
    if (this.state !== 'connecting') this.become(this.isUsable() ? 'ready' : 'closed');
  }
}

/** Host and port of a node that the application has named. */
function nameOf({ url, socket = {} }: NodeRedisOptions): string {
  const { hostname, port } = url === undefined ? { hostname: socket.host, port: socket.port } : new URL(url);
  return `${hostname || '127.0.0.1'}:${port || 6379}`;
}

function addressOf(node: string): Address {
  const end = node.lastIndexOf(':');
  return { host: node.slice(0, end), port: Number(node.slice(end + 1)) };
}

/**
 * The nodes of the slots that CLUSTER SLOTS tells.
 *
 * @param host that of the node which was asked: it may not know its own
 * @throws {Error} when no node has a slot
 */
function slotsOf(reply: unknown, host: string): (string | undefined)[] {
  const ranges = reply as [number, number, [string | null, number]][];
  if (ranges.length === 0) throw new Error('the node knows no slots');
  const slots = Array.from<string | undefined>({ length: SLOTS });
  for (const [from, to, master] of ranges) slots.fill(`${master[0] || host}:${master[1]}`, from, to + 1);
  return slots;
}

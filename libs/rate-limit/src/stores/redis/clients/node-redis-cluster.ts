import { setTimeout as delay } from 'node:timers/promises';
import { withinLoopTime } from '../../loop-timer.js';
import { SLOTS, slotOf } from '../../slots.js';
import { clearTimeout, setTimeout } from '../../../util/real-timers.js';
import { backoff } from './backoff.js';
import type { ClusterMap, OwnedClient, RedisConnection } from './client.js';
import { ConnectionError } from './client-failure.js';
import { type CreateClient, mapped, NodeRedisBase, type NodeRedisOptions, prefixOf } from './node-redis.js';
import { NodeRedisConnection, promised } from './node-redis-connection.js';
import { inOurWords } from './node-redis-failure.js';

const MAX_AGAIN = 5;
/** Milliseconds until a call is sent again whose keys are on their way to another node: nothing was run. As long as ioredis takes. */
const TRY_AGAIN_MS = 100;
/** Milliseconds that a redirection waits for a node that is not connected yet. */
const REDIRECTION_MS = 1000;
/** Milliseconds that the first connection waits for all nodes: one of them may be silent. */
const ALL_MS = 500;
/** Milliseconds that a node may take to tell its slots. */
const SLOTS_MS = 1000;

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
  readonly database = 0;
  private readonly nodes = new Map<string, NodeRedisConnection>();
  /** The node of each slot. */
  private slots: (string | undefined)[] = [];
  private reading: Promise<void> | undefined;
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Whether all nodes have been waited for. */
  private isOpen = false;

  constructor(
    private readonly options: NodeRedisClusterOptions,
    private readonly create: CreateClient,
  ) {
    super(prefixOf(options.keyPrefix));
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
      await withinLoopTime(ALL_MS, Promise.allSettled(all)).catch(() => undefined);
      await Promise.any(all);
    } finally {
      this.isOpen = true;
      this.changed();
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
  protected async send(args: readonly string[], key: string | undefined): Promise<unknown> {
    const slot = key === undefined ? -1 : slotOf(key);
    let node = slot < 0 ? this.ready()[0]?.[0] : this.slots[slot];
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
        node = address.startsWith(':') ? `${hostOf(node)}${address}` : address;
        isAsking = kind === 'ASK';
        if (isAsking) continue;
        this.slots[slot] = node;
        this.refresh();
      }
    }
  }

  private ready(): [string, NodeRedisConnection][] {
    return [...this.nodes].filter(([, { state }]) => state === 'ready');
  }

  /** The connection to a node that another node names, perhaps a new one. The Cluster puts the prefix before keys. */
  private open(node: string, root?: NodeRedisOptions): NodeRedisConnection {
    const known = this.nodes.get(node);
    if (known !== undefined) return known;
    const { RESP, defaults, nodeAddressMap } = this.options;
    const named = { host: hostOf(node), port: Number(node.slice(node.lastIndexOf(':') + 1)) };
    const address = root === undefined ? mapped(nodeAddressMap, named) : undefined;
    const given = { ...defaults, url: undefined, ...(RESP !== undefined && { RESP }), ...root };
    const options = { ...given, socket: { ...defaults?.socket, ...root?.socket } };
    const connection = new NodeRedisConnection({
      make: (signal) => this.create(promised(options, signal, address)),
      socket: defaults?.socket,
    });
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
    let problem: Error | undefined;
    if (this.ready().length === 0) {
      const roots = this.options.rootNodes.map((root) => this.open(nameOf(root), root).connect());
      await Promise.any(roots).catch(({ errors }: AggregateError) => (problem = errors[0] as Error | undefined));
    }
    for (const [node, connection] of this.ready().toSorted(() => Math.random() - 0.5)) {
      try {
        const slots = slotsOf(await withinLoopTime(SLOTS_MS, connection.send(['CLUSTER', 'SLOTS'])), hostOf(node));
        if (this.state !== 'ended') this.replace(slots);
        return;
      } catch (error) {
        problem = inOurWords(error);
      }
    }
    const why = problem?.message ?? 'createCluster has no rootNodes';
    const error = new ConnectionError(`no node of the Redis Cluster said which slots it has: ${why}`, problem, false);
    if (this.state === 'ended') throw error;
    this.timer = setTimeout(() => this.refresh(), backoff(++this.failures));
    this.failed(error);
    this.changed();
    throw error;
  }

  private replace(slots: (string | undefined)[]): void {
    this.failures = 0;
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
    if (!this.isOpen || this.state === 'ended') return;
    this.become(this.slots.length > 0 && this.ready().length > 0 ? 'ready' : 'closed');
  }
}

/** Host and port of a node that the application has named. */
function nameOf({ url, socket = {} }: NodeRedisOptions): string {
  const { hostname, port } = url === undefined ? { hostname: socket.host, port: socket.port } : new URL(url);
  return `${hostname || '127.0.0.1'}:${port || 6379}`;
}

function hostOf(node: string): string {
  return node.slice(0, node.lastIndexOf(':'));
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

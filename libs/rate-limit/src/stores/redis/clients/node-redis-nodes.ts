import { SLOTS } from '../../slots.js';
import { withinLoopTime } from '../../loop-timer.js';
import { backoff } from './backoff.js';
import type { ClusterMap, RedisConnection } from './client.js';
import { ConnectionError } from './client-failure.js';
import {
  type MakeNodeRedis,
  mapped,
  type NodeRedisClusterOptions,
  type NodeRedisOptions,
  prefixOf,
  PROMISED,
} from './node-redis.js';
import { askOnce } from './node-redis-ask.js';
import { NodeRedisConnection } from './node-redis-connection.js';
import { inOurWords } from './node-redis-failure.js';

/** Milliseconds that a node may take to tell its slots. */
const SLOTS_MS = 1000;
/** The same on a connection that has yet to be opened. */
const ROOT_MS = 2000;

/** Called with what happens to the nodes. */
export interface NodesListener {
  /** A connection has another state, or the nodes have other slots. */
  changed(): void;
  /** No node could tell the slots. */
  failed(error: Error): void;
}

/** The nodes of a Cluster that the store opened for a `createCluster` of the application. */
export class NodeRedisNodes implements ClusterMap {
  private readonly nodes = new Map<string, NodeRedisConnection>();
  /** The node of each slot. */
  private slots: (string | undefined)[] = [];
  private readonly connectionListeners: ((connection: RedisConnection) => void)[] = [];
  private readonly slotsListeners: (() => void)[] = [];
  private reading: Promise<void> | undefined;
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly options: NodeRedisClusterOptions,
    private readonly make: MakeNodeRedis,
    private readonly listener: NodesListener,
  ) {}

  masterOf(slot: number): string | undefined {
    return this.slots[slot];
  }

  masters(): ReadonlySet<string> {
    return new Set(this.slots.filter((node) => node !== undefined));
  }

  connectionOf(node: string): NodeRedisConnection | undefined {
    return this.nodes.get(node);
  }

  /** All connections. */
  all(): NodeRedisConnection[] {
    return [...this.nodes.values()];
  }

  onConnection(listener: (connection: RedisConnection) => void): void {
    this.connectionListeners.push(listener);
  }

  onSlots(listener: () => void): void {
    this.slotsListeners.push(listener);
  }

  refresh(): void {
    void this.read().catch(() => undefined);
  }

  /** Notes where a slot is, as a node has told, and reads the others. */
  moved(slot: number, node: string): void {
    this.open(node);
    this.slots[slot] = node;
    this.refresh();
  }

  /** The connection to a node that another node names, perhaps a new one. */
  open(node: string): NodeRedisConnection {
    let connection = this.nodes.get(node);
    if (connection !== undefined) return connection;
    const { options } = this;
    const at = node.lastIndexOf(':');
    const address = mapped(options.nodeAddressMap, { host: node.slice(0, at), port: Number(node.slice(at + 1)) });
    connection = new NodeRedisConnection({
      make: (link) =>
        this.make({ ...this.shared, socket: link.socketOf(options.defaults?.socket, address), url: undefined }),
      keyPrefix: prefixOf(options.keyPrefix),
      database: 0,
      reconnectStrategy: options.defaults?.socket?.reconnectStrategy,
    });
    this.nodes.set(node, connection);
    connection.onState((state) => {
      // Another node may have the slots now.
      if (state === 'closed') this.refresh();
      this.listener.changed();
    });
    for (const listener of this.connectionListeners) listener(connection);
    connection.connect().catch(() => undefined);
    return connection;
  }

  /** Reads which slots the nodes have. Rejects when no node tells, and tries again. */
  read(): Promise<void> {
    this.reading ??= this.readOnce().finally(() => (this.reading = undefined));
    return this.reading;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const connection of this.nodes.values()) connection.destroy();
    this.nodes.clear();
    this.slots = [];
  }

  private get shared(): object {
    const { defaults, RESP } = this.options;
    return { ...defaults, ...(RESP !== undefined && { RESP }), ...PROMISED, database: undefined, keyPrefix: undefined };
  }

  private async readOnce(): Promise<void> {
    clearTimeout(this.timer);
    const problems: Error[] = [];
    for (const [node, connection] of this.shuffled()) {
      if (connection.state !== 'ready') continue;
      const answer = withinLoopTime(SLOTS_MS, connection.send(['CLUSTER', 'SLOTS']));
      if (await this.take(answer, node.slice(0, node.lastIndexOf(':')), problems)) return;
    }
    for (const root of this.options.rootNodes) {
      if (await this.take(this.askRoot(root), hostOf(root), problems)) return;
    }
    if (this.isClosed) return;
    const why = problems.at(-1)?.message ?? 'createCluster has no rootNodes';
    const error = new ConnectionError(
      `no node of the Redis Cluster said which slots it has: ${why}`,
      problems.at(-1),
      false,
    );
    this.timer = setTimeout(() => this.refresh(), backoff(++this.failures));
    this.listener.failed(error);
    throw error;
  }

  /** Whether the answer tells the slots. */
  private async take(answer: Promise<unknown>, host: string, problems: Error[]): Promise<boolean> {
    try {
      const slots = slotsOf(await answer, host);
      if (this.isClosed) return true;
      this.replace(slots);
      this.failures = 0;
      return true;
    } catch (error) {
      problems.push(inOurWords(error));
      return false;
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
    for (const listener of this.slotsListeners) listener();
    this.listener.changed();
  }

  private askRoot(root: NodeRedisOptions): Promise<unknown> {
    const { defaults } = this.options;
    return askOnce(
      ROOT_MS,
      (link) =>
        this.make({
          ...this.shared,
          ...root,
          ...PROMISED,
          socket: link.socketOf({ ...defaults?.socket, ...root.socket }),
        }),
      (link) => link.send(['CLUSTER', 'SLOTS']),
    );
  }

  private shuffled(): [string, NodeRedisConnection][] {
    return [...this.nodes]
      .map((one) => ({ one, at: Math.random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ one }) => one);
  }
}

/**
 * The nodes of the slots that CLUSTER SLOTS tells.
 *
 * @param host that of the node which was asked: it may not know its own
 * @throws {Error} when no node has a slot
 */
function slotsOf(reply: unknown, host: string): (string | undefined)[] {
  const slots = Array.from<string | undefined>({ length: SLOTS });
  let found = false;
  for (const [from, to, master] of reply as [number, number, [string | null, number]][]) {
    const node = `${master[0] || host}:${master[1]}`;
    slots.fill(node, from, to + 1);
    found = true;
  }
  if (!found) throw new Error('the node knows no slots');
  return slots;
}

function hostOf({ url, socket }: NodeRedisOptions): string {
  if (url !== undefined && URL.canParse(url)) return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  return socket?.host ?? '127.0.0.1';
}

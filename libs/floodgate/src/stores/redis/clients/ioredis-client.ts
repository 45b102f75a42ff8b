import type {
  ClusterMap,
  ConnectionSocket,
  ConnectionState,
  OwnedClient,
  RedisConnection,
  StoreClient,
} from './client.js';
import { ConnectionError } from './client-failure.js';
import { ClientConnections, firstAnswerMs, PingingConnector } from './connector.js';
import { inOurWords } from './ioredis-failure.js';
import type { RedisCommands } from './redis-client.js';
import type { RedisConnectionOptions } from './redis-options.js';

/** What is used of a `Redis` of ioredis that a `Cluster` has for each node. */
interface Ioredis extends Pick<RedisCommands, 'evalsha' | 'eval'> {
  readonly status: string;
  readonly stream?: ConnectionSocket;
  readonly options?: RedisConnectionOptions;
  on(event: keyof typeof STATES, listener: () => void): unknown;
}

/** What is used of a `Redis` and a `Cluster` that the store opened. */
export interface IoredisClient extends Ioredis, Pick<RedisCommands, 'del' | 'isCluster'> {
  call(...args: readonly string[]): Promise<unknown>;
  connect(): Promise<void>;
  quit(): Promise<unknown>;
  disconnect(): void;
  on(event: keyof typeof STATES, listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** What is used of a `Cluster`. A client of the application may lack it. */
interface IoredisCluster {
  /** The nodes of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  nodes?(): readonly Ioredis[];
  refreshSlotsCache?(): void;
  on(event: 'refresh', listener: () => void): unknown;
  on(event: '+node', listener: (node: Ioredis) => void): unknown;
}

/** The states that ioredis tells. All others, such as `wait` and `reconnecting`, are `closed`. */
const STATES = {
  connecting: 'connecting',
  connect: 'connected',
  ready: 'ready',
  close: 'closed',
  end: 'ended',
} as const satisfies Readonly<Record<string, ConnectionState>>;

/** Whether ioredis, or a connector of the application, opens the connection. With Sentinel, ioredis finds the master first. */
export function opensItself({ sentinels, Connector }: RedisConnectionOptions): boolean {
  return Boolean(sentinels) || (Connector !== undefined && Connector !== PingingConnector);
}

/** A connection of ioredis: a `Redis`, with or without Sentinel, also that of a Cluster's node. */
class ConnectionOfIoredis<T extends Ioredis> implements RedisConnection {
  readonly keyPrefix: string;

  /** @param client as the application or this library has made it */
  constructor(readonly client: T) {
    this.keyPrefix = client.options?.keyPrefix ?? '';
  }

  get state(): ConnectionState {
    const { status } = this.client;
    return status === 'ready' ? 'ready' : ((STATES as Readonly<Record<string, ConnectionState>>)[status] ?? 'closed');
  }

  get socket(): ConnectionSocket | undefined {
    return this.client.stream;
  }

  get isProbed(): boolean {
    return !opensItself(this.client.options ?? {});
  }

  get firstAnswerMs(): number {
    return firstAnswerMs(this.client.stream);
  }

  onState(listener: (state: ConnectionState) => void): void {
    for (const [event, state] of Object.entries(STATES)) {
      this.client.on(event as keyof typeof STATES, () => listener(state));
    }
  }

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.client.evalsha(sha1, keys, ...args);
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.client.eval(text, keys, ...args);
  }

  failureOf(thrown: unknown): Error {
    return inOurWords(thrown);
  }
}

/** A `Redis` or a `Cluster` of ioredis. */
class ClientOfIoredis extends ConnectionOfIoredis<IoredisClient> implements OwnedClient {
  readonly cluster: ClusterMap | undefined;
  readonly database: number;
  private end: (() => void) | undefined;

  constructor(
    client: IoredisClient,
    private readonly connections = new ClientConnections(),
  ) {
    super(client);
    const isCluster = client.isCluster === true;
    this.cluster = isCluster ? new NodesOfIoredis(client as unknown as IoredisCluster) : undefined;
    this.database = (!isCluster && client.options?.db) || 0;
  }

  del(key: string): Promise<unknown> {
    return worded(() => this.client.del(key));
  }

  command(...args: readonly string[]): Promise<unknown> {
    return worded(() => this.client.call(...args));
  }

  /** With Sentinels, and on a Cluster, ioredis never settles an attempt that `disconnect` ends. */
  connect(): Promise<void> {
    const ended = new Promise<never>((_, reject) => {
      this.end = () => reject(new ConnectionError('the connection to Redis is closed', undefined, true));
    });
    return worded(() => Promise.race([this.client.connect(), ended]));
  }

  close(): Promise<unknown> {
    return worded(() => this.client.quit());
  }

  /** Ends the client at once. Call it after `close`, too: only `destroy` ends the connections that watch Sentinels for failovers. */
  destroy(): void {
    this.client.disconnect();
    this.connections.destroy();
    this.end?.();
  }

  onError(listener: (error: Error) => void): void {
    this.client.on('error', (error) => listener(inOurWords(error)));
  }
}

/** The nodes of a `Cluster` of ioredis. */
class NodesOfIoredis implements ClusterMap {
  private readonly known = new WeakMap<Ioredis, RedisConnection>();

  constructor(private readonly client: IoredisCluster) {}

  masterOf(slot: number): string | undefined {
    return this.client.slots?.[slot]?.[0];
  }

  masters(): ReadonlySet<string> {
    const { slots = [] } = this.client;
    const masters = new Set<string>();
    // Neighbours mostly have the same owner.
    for (let slot = 0, last: string | undefined; slot < slots.length; slot++) {
      const master = slots[slot]?.[0];
      if (master !== undefined && master !== last) masters.add((last = master));
    }
    return masters;
  }

  connectionOf(node: string): RedisConnection | undefined {
    const found = this.client.nodes?.().find(({ options }) => `${options?.host}:${options?.port}` === node);
    return found && this.of(found);
  }

  onConnection(listener: (connection: RedisConnection) => void): void {
    this.client.on('+node', (node) => listener(this.of(node)));
  }

  onSlots(listener: () => void): void {
    this.client.on('refresh', listener);
  }

  refresh(): void {
    this.client.refreshSlotsCache?.();
  }

  private of(node: Ioredis): RedisConnection {
    let connection = this.known.get(node);
    if (connection === undefined) this.known.set(node, (connection = new ConnectionOfIoredis(node)));
    return connection;
  }
}

async function worded<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw inOurWords(error);
  }
}

/** Adapts a client that the store opened. */
export function ownedIoredis(client: IoredisClient, connections: ClientConnections): OwnedClient {
  return new ClientOfIoredis(client, connections);
}

/** Adapts a client of the application, of which the store uses nothing else but what `RedisCommands` has. */
export function givenIoredis(client: RedisCommands): StoreClient {
  return new ClientOfIoredis(client as IoredisClient);
}

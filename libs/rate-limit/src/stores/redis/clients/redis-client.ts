/** The part of a connection that the watchdog uses. */
export interface WatchedConnection {
  readonly status: string;
  readonly stream?: WatchedStream;
  on(event: 'connecting' | 'connect' | 'ready' | 'close', listener: () => void): unknown;
}

export interface WatchedStream {
  readonly bytesRead: number;
  readonly connecting?: boolean;
  readonly destroyed?: boolean;
  destroy(error: Error): unknown;
}

/** The part of a client that the store uses. ioredis's `Redis` and `Cluster` have it. */
export interface RedisClient {
  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly isCluster?: boolean;
  readonly options?: { readonly keyPrefix?: string };
}

/** The connection of a Cluster client to one node. */
export interface ClusterNodeConnection extends WatchedConnection, Pick<RedisClient, 'evalsha' | 'eval'> {
  readonly options: { readonly host?: string; readonly port?: number; readonly keyPrefix?: string };
  readonly stream?: NodeStream;
}

/** A socket that can hold its writes back, to send them as one. */
export type NodeStream = NonNullable<WatchedConnection['stream']> & {
  readonly writable?: boolean;
  cork?(): void;
  uncork?(): void;
};

/** The part of a Cluster client that shows its nodes. */
export interface NodesOfClient {
  /** The nodes of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  /** The connections to the nodes. */
  nodes?(): readonly ClusterNodeConnection[];
}

/** A client that the store opened, and closes. */
export interface OwnedRedisClient extends RedisClient, NodesOfClient {
  /** `'ready'` while commands can be sent. */
  readonly status: string;
  info(section: string): Promise<string>;
  /** Selects a database. A Cluster has only one. */
  select?(database: number): Promise<unknown>;
  connect(): Promise<void>;
  quit(): Promise<unknown>;
  disconnect(): void;
  /** The connection. A Cluster client has one for each node instead. */
  readonly stream?: WatchedConnection['stream'];
  /** Cluster only: asks the nodes again which slots they have. */
  refreshSlotsCache?(): void;
  on(event: 'error' | 'connecting' | 'connect' | 'close' | 'ready' | 'end', listener: (error: Error) => void): unknown;
  /** Cluster only: the client has read which slots the nodes have. */
  on(event: 'refresh', listener: () => void): unknown;
  on(event: '+node', listener: (node: ClusterNodeConnection) => void): unknown;
}

/** Whether `value` is a ready client, by its methods: two copies of ioredis in a dependency tree have two classes. */
export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  const client = value as Record<string, unknown>;
  return typeof client.evalsha === 'function' && typeof client.eval === 'function' && typeof client.del === 'function';
}

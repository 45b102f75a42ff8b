/**
 * What a connection does: `closed` (the client connects again by itself), `connecting`, `connected` (Redis has yet to accept the
 * client), `ready`, and `ended` (the client connects no more by itself).
 */
export type ConnectionState = 'closed' | 'connecting' | 'connected' | 'ready' | 'ended';

/** The socket of a connection. A socket of Node is one. */
export interface ConnectionSocket {
  readonly bytesRead: number;
  /** Whether it has no TCP connection yet. */
  readonly connecting?: boolean;
  readonly destroyed?: boolean;
  readonly writable?: boolean;
  destroy(error: Error): unknown;
  /** Holds its writes back until `uncork`, to send them as one. */
  cork?(): void;
  uncork?(): void;
}

/** Runs Lua programs on a server: the one behind a client, or a node of its Cluster. */
export interface ProgramRunner {
  /** What it puts before each declared key; empty: nothing. */
  readonly keyPrefix: string;
  /** Whether the client writes a call in the next check phase, before which the event loop may stall. Default: at once. */
  readonly writesLater?: boolean | undefined;
  /**
   * Runs a program that Redis knows by its SHA-1. Rejects with NOSCRIPT, and has run nothing, where Redis does not.
   *
   * @param keys how many of `args` are declared keys, which come first
   */
  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown>;
  /** Runs a program by its text, and Redis knows it from then on. */
  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown>;
  /**
   * The error of a run, in words for an operator: a `ConnectionError`, or what Redis replied (see `isErrorReply`). The two methods above
   * reject with the client's own error, because a promise around each would cost every request.
   */
  failureOf(thrown: unknown): Error;
}

/** A connection to a server, which the client replaces when it is lost. */
export interface RedisConnection extends ProgramRunner {
  readonly state: ConnectionState;
  /** The socket of the current connection. Undefined: there is none, or the client does not show it. */
  readonly socket: ConnectionSocket | undefined;
  /** Whether Redis has answered on a socket before the connection is `connected`. Otherwise it may be silent from the start. */
  readonly isProbed?: boolean;
  /** Milliseconds until Redis answered first on the current socket; 0 unless `isProbed`. */
  readonly firstAnswerMs?: number;
  /** Calls `listener` for each later state, which may already have passed by then. */
  onState(listener: (state: ConnectionState) => void): void;
}

/** The nodes of a Cluster, each named by host and port, and the slots that they have. */
export interface ClusterMap {
  /** The node that has a slot, as the client knows it now. */
  masterOf(slot: number): string | undefined;
  /** All nodes that have slots. */
  masters(): ReadonlySet<string>;
  /** The connection to a node: the same object for as long as the client keeps it. */
  connectionOf(node: string): RedisConnection | undefined;
  /** Calls `listener` for each connection that the client adds. */
  onConnection(listener: (connection: RedisConnection) => void): void;
  /** Calls `listener` whenever the client has read which slots the nodes have. */
  onSlots(listener: () => void): void;
  /** Asks the nodes again which slots they have. */
  refresh(): void;
}

/** A client of Redis, as the store uses it: the port behind which each client library has one adapter in this folder. */
export interface StoreClient extends ProgramRunner {
  /** Undefined: one server, or what looks like one. */
  readonly cluster: ClusterMap | undefined;
  /** @throws {Error} in words for an operator */
  del(key: string): Promise<unknown>;
}

/**
 * A client that belongs to the store, which connects and closes it. It queues nothing for an unavailable server, and sends nothing
 * twice. Its methods reject in words for an operator.
 *
 * Of a Cluster, the state is that of the client as a whole: `ready` while the nodes are known.
 */
export interface OwnedClient extends StoreClient, RedisConnection {
  /** The database that it was asked to use; 0 for a Cluster. */
  readonly database: number;
  /** Sends a command without keys, such as `TIME`: to any node of a Cluster. */
  command(...args: readonly string[]): Promise<unknown>;
  connect(): Promise<void>;
  /** Closes the connection after its last answer. */
  close(): Promise<unknown>;
  /** Closes the connection at once. */
  destroy(): void;
  /** Calls `listener` with each error of a connection, in words for an operator. */
  onError(listener: (error: Error) => void): void;
}

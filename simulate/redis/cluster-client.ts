import calculateSlot from 'cluster-key-slot';
import type {
  ClusterMap,
  ConnectionState,
  OwnedClient,
  RedisConnection,
} from '../../libs/floodgate/src/stores/redis/clients/client.js';
import { callOf, SimulatedOwnedClient } from './client.js';
import { Connection, type ConnectionSettings } from './connection.js';
import { argumentCount } from './lean-calls.js';
import type { Call, RedisServer } from './server.js';

const SLOTS = 16_384;
const PORT = 6379;

/** The connection to one master. */
class NodeConnection implements RedisConnection {
  readonly keyPrefix = '';
  readonly isProbed = true;
  readonly firstAnswerMs = 0;

  constructor(readonly connection: Connection) {}

  get state(): ConnectionState {
    return this.connection.state;
  }

  get socket(): Connection['socket'] {
    return this.connection.socket;
  }

  onState(listener: (state: ConnectionState) => void): void {
    this.connection.onState(listener);
  }

  runByHash(sha1: string, _: number, args: readonly string[]): Promise<unknown> {
    return this.connection.call(byNode(sha1, args));
  }

  runByText(text: string, _: number, args: readonly string[]): Promise<unknown> {
    return this.connection.call(byNode(text, args));
  }

  failureOf(thrown: unknown): Error {
    return thrown as Error;
  }
}

/** A client of a Cluster, which sends each call to the master of its first key's slot. The slots never move. */
export class SimulatedClusterClient extends SimulatedOwnedClient implements OwnedClient {
  readonly socket = undefined;
  readonly cluster: ClusterMap;
  private readonly nodes: readonly NodeConnection[];
  private added: ((connection: RedisConnection) => void) | undefined;

  /** @param connections one for each master; the slots are divided among them in equal ranges */
  constructor(private readonly connections: readonly ConnectionSettings[]) {
    super();
    this.nodes = connections.map((settings) => new NodeConnection(new Connection(settings)));
    const names = connections.map((_, i) => `master-${i}:${PORT}`);
    this.cluster = {
      masterOf: (slot) => names[this.ownerOf(slot)],
      masters: () => new Set(names),
      connectionOf: (node) => this.nodes[names.indexOf(node)],
      onConnection: (listener) => void (this.added = listener),
      onSlots: () => undefined,
      refresh: () => undefined,
    };
  }

  get state(): ConnectionState {
    return this.nodes.some(({ state }) => state === 'ready') ? 'ready' : 'connecting';
  }

  onState(): void {}

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.send(callOf(sha1, keys, args));
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.send(callOf(text, keys, args));
  }

  del(): Promise<unknown> {
    return Promise.reject(new Error('ERR the simulated Cluster resets nothing'));
  }

  async connect(): Promise<void> {
    await Promise.all(
      this.nodes.map((node) => {
        this.added?.(node);
        return node.connection.open();
      }),
    );
  }

  destroy(): void {
    for (const { connection } of this.nodes) connection.close();
  }

  /** A master closes its connection. */
  lose(server: RedisServer): void {
    for (const [i, { loop, server: own }] of this.connections.entries()) {
      if (own === server) loop.post(() => this.nodes[i]!.connection.lose());
    }
  }

  private send(call: Call): Promise<unknown> {
    return this.nodes[this.ownerOf(calculateSlot(call.keys[0]!))]!.connection.call(call);
  }

  private ownerOf(slot: number): number {
    return Math.floor((slot * this.nodes.length) / SLOTS);
  }
}

/** A call that was sent to a node: that of a batch declares its first key only, and has the others behind the arguments. */
function byNode(script: string, [first, ...rest]: readonly string[]): Call {
  const count = argumentCount(script, rest);
  return { script, keys: [first!, ...rest.slice(count)], args: rest.slice(0, count) };
}

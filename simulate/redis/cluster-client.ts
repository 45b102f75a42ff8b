import calculateSlot from 'cluster-key-slot';
import type {
  ClusterNodeConnection,
  OwnedRedisClient,
} from '../../libs/rate-limit/src/stores/redis/clients/redis-client.js';
import { callOf } from './client.js';
import { Connection, type ConnectionSettings } from './connection.js';
import { argumentCount } from './lean-calls.js';
import type { Call, RedisServer } from './server.js';

const SLOTS = 16_384;
const PORT = 6379;

/** The connection to one master, as a Cluster client of ioredis shows it. */
interface Node extends ClusterNodeConnection {
  readonly connection: Connection;
  readonly evalsha: (sha1: string, keys: number, ...args: string[]) => Promise<unknown>;
  readonly eval: (script: string, keys: number, ...args: string[]) => Promise<unknown>;
}

/** A client of a Cluster, which sends each call to the master of its first key's slot. The slots never move. */
export class SimulatedClusterClient implements OwnedRedisClient {
  readonly isCluster = true;
  readonly slots: readonly (readonly string[])[];
  private readonly masters: readonly Node[];
  private known: ((node: ClusterNodeConnection) => void) | undefined;

  /** @param connections one for each master; the slots are divided among them in equal ranges */
  constructor(private readonly connections: readonly ConnectionSettings[]) {
    this.masters = connections.map((settings, i) => nodeOf(new Connection(settings), `master-${i}`));
    this.slots = slotsOf(connections.length);
  }

  get status(): string {
    return this.masters.some(({ status }) => status === 'ready') ? 'ready' : 'connecting';
  }

  nodes(): readonly ClusterNodeConnection[] {
    return this.masters;
  }

  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown> {
    return this.send(callOf(sha1, keys, args));
  }

  eval(script: string, keys: number, ...args: string[]): Promise<unknown> {
    return this.send(callOf(script, keys, args));
  }

  del(): Promise<unknown> {
    return Promise.reject(new Error('ERR the simulated Cluster resets nothing'));
  }

  info(): Promise<string> {
    return Promise.resolve('maxmemory_policy:noeviction');
  }

  async connect(): Promise<void> {
    await Promise.all(
      this.masters.map((node) => {
        this.known?.(node);
        return node.connection.open();
      }),
    );
  }

  quit(): Promise<unknown> {
    this.disconnect();
    return Promise.resolve('OK');
  }

  disconnect(): void {
    for (const { connection } of this.masters) connection.close();
  }

  on(event: string, listener: (argument: never) => void): this {
    if (event === '+node') this.known = listener as (node: ClusterNodeConnection) => void;
    return this;
  }

  /** A master closes its connection. */
  lose(server: RedisServer): void {
    for (const [i, { loop, server: own }] of this.connections.entries()) {
      if (own === server) loop.post(() => this.masters[i]!.connection.lose());
    }
  }

  private send(call: Call): Promise<unknown> {
    return this.masters[masterOf(calculateSlot(call.keys[0]!), this.masters.length)]!.connection.call(call);
  }
}

/** By the number of masters. All clients share a table, as large as it is. */
const SLOT_TABLES = new Map<number, readonly (readonly string[])[]>();

function slotsOf(masters: number): readonly (readonly string[])[] {
  let slots = SLOT_TABLES.get(masters);
  if (slots === undefined) {
    slots = Array.from({ length: SLOTS }, (_, slot) => [`master-${masterOf(slot, masters)}:${PORT}`]);
    SLOT_TABLES.set(masters, slots);
  }
  return slots;
}

function masterOf(slot: number, masters: number): number {
  return Math.floor((slot * masters) / SLOTS);
}

function nodeOf(connection: Connection, host: string): Node {
  const ask = (script: string, _: number, ...args: string[]): Promise<unknown> => connection.call(byNode(script, args));
  return {
    connection,
    evalsha: ask,
    eval: ask,
    options: { host, port: PORT },
    get status() {
      return connection.status;
    },
    get stream() {
      return connection.stream;
    },
    on: (event, listener) => connection.on(event, listener),
  };
}

/** A call that was sent to a node: that of a batch declares its first key only, and has the others behind the arguments. */
function byNode(script: string, [first, ...rest]: readonly string[]): Call {
  const count = argumentCount(script, rest);
  return { script, keys: [first!, ...rest.slice(count)], args: rest.slice(0, count) };
}

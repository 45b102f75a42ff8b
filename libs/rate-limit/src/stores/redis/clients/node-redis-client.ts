import type {
  ClusterMap,
  ConnectionSocket,
  ConnectionState,
  OwnedClient,
  RedisConnection,
  StoreClient,
} from './client.js';
import { AS_SENT, type NodeRedis, programCommand, prefixOf } from './node-redis.js';
import { NodeRedisConnection, type NodeRedisConnectionSettings } from './node-redis-connection.js';
import { failureOfCall } from './node-redis-failure.js';
import { setTimeout as delay } from 'node:timers/promises';
import { hasMethods, type NodeRedisClient } from './redis-client.js';

const TRY_AGAIN_MS = 100;
const MAX_TRIES_AGAIN = 16;

/** One server, or what looks like one, by connections that the store opens. */
export class OwnedNodeRedis extends NodeRedisConnection implements OwnedClient {
  readonly cluster: undefined;
  readonly database: number;

  constructor(settings: NodeRedisConnectionSettings) {
    super(settings);
    this.database = settings.database;
  }

  del(key: string): Promise<unknown> {
    return this.call(['DEL', `${this.keyPrefix}${key}`]);
  }

  select(database: number): Promise<unknown> {
    return this.call(['SELECT', String(database)]);
  }

  async info(section: string): Promise<string> {
    return String(await this.call(['INFO', section]));
  }

  time(): Promise<unknown> {
    return this.call(['TIME']);
  }

  private call(args: readonly string[]): Promise<unknown> {
    return worded(this.send(args), (error) => this.failureOf(error));
  }
}

/** What is used of a client of the application: sends a command to the server that has the key. */
type Send = (key: string, args: readonly string[]) => Promise<unknown>;

/** A client of the application, which is used as it is. */
class GivenNodeRedis implements StoreClient {
  readonly writesLater = true;

  constructor(
    private readonly send: Send,
    readonly keyPrefix: string,
    readonly cluster: ClusterMap | undefined,
  ) {}

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.run('evalsha', sha1, keys, args);
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.run('eval', text, keys, args);
  }

  del(key: string): Promise<unknown> {
    const prefixed = `${this.keyPrefix}${key}`;
    return worded(this.send(prefixed, ['DEL', prefixed]), failureOfCall);
  }

  failureOf(thrown: unknown): Error {
    return failureOfCall(thrown);
  }

  private run(command: 'eval' | 'evalsha', program: string, keys: number, args: readonly string[]): Promise<unknown> {
    const call = programCommand(command, program, keys, args, this.keyPrefix);
    return this.send(call[3]!, call);
  }
}

/** The connection of a `createCluster` to one of its nodes. */
class GivenConnection extends GivenNodeRedis implements RedisConnection {
  readonly isProbed = false;
  readonly firstAnswerMs = 0;
  readonly socket: ConnectionSocket | undefined;

  constructor(private readonly client: NodeRedis) {
    // The Cluster prefixes keys, its connections do not.
    super((_, args) => client.sendCommand(args, AS_SENT), '', undefined);
  }

  get state(): ConnectionState {
    if (this.client.isReady) return 'ready';
    return this.client.isOpen ? 'connecting' : 'ended';
  }

  onState(): void {}
}

interface Node {
  readonly address: string;
  readonly client?: unknown;
}

/** What is used of a `createCluster`. */
interface GivenCluster {
  readonly slots: readonly ({ readonly master?: Node } | undefined)[];
  readonly masters: readonly Node[];
  readonly nodeByAddress: ReadonlyMap<string, Node>;
  sendCommand(key: string, isReadonly: boolean, args: readonly string[], options: object): Promise<unknown>;
}

/** The nodes of a `createCluster`. */
class GivenNodes implements ClusterMap {
  private readonly known = new WeakMap<object, RedisConnection>();

  constructor(private readonly client: GivenCluster) {}

  masterOf(slot: number): string | undefined {
    return this.client.slots[slot]?.master?.address;
  }

  masters(): ReadonlySet<string> {
    return new Set(this.client.masters.map(({ address }) => address));
  }

  connectionOf(node: string): RedisConnection | undefined {
    const client = this.client.nodeByAddress.get(node)?.client;
    if (!hasMethods(client, ['sendCommand'])) return undefined;
    let connection = this.known.get(client as object);
    if (connection === undefined)
      this.known.set(client as object, (connection = new GivenConnection(client as NodeRedis)));
    return connection;
  }

  // The client belongs to the application: its nodes are not watched.
  onConnection(): void {}
  onSlots(): void {}
  refresh(): void {}
}

/** What is used of a `createSentinel`. */
interface GivenSentinel {
  _execute(isReadonly: boolean, call: (client: NodeRedis) => Promise<Outcome>): Promise<Outcome>;
}

interface Outcome {
  readonly answer?: unknown;
  readonly error?: unknown;
}

/** Adapts a client of the application. */
export function givenNodeRedis(client: NodeRedisClient): StoreClient {
  const { _keyPrefix, options } = client as { _keyPrefix?: string; options?: { keyPrefix?: string } };
  const keyPrefix = prefixOf(_keyPrefix ?? options?.keyPrefix);
  if (isNodeRedisCluster(client)) {
    const cluster = client as unknown as GivenCluster;
    const send: Send = (key, args) => sendToSlot(cluster, key, args);
    return new GivenNodeRedis(send, keyPrefix, new GivenNodes(cluster));
  }
  if (isNodeRedisSentinel(client))
    return new GivenNodeRedis(sendOnce(client as unknown as GivenSentinel), keyPrefix, undefined);
  return new GivenNodeRedis((_, args) => (client as NodeRedis).sendCommand(args, AS_SENT), keyPrefix, undefined);
}

/** While a slot moves, a call may find its keys on two nodes, which run nothing then: `createCluster` does not send it again. */
async function sendToSlot(cluster: GivenCluster, key: string, args: readonly string[]): Promise<unknown> {
  for (let again = 0; ; again++) {
    try {
      return await cluster.sendCommand(key, false, args, AS_SENT);
    } catch (error) {
      if (again === MAX_TRIES_AGAIN || !String((error as Partial<Error>).message).startsWith('TRYAGAIN')) throw error;
    }
    await delay(TRY_AGAIN_MS);
  }
}

export function isNodeRedisCluster(client: NodeRedisClient): boolean {
  return hasMethods(client, ['nodeClient']);
}

export function isNodeRedisSentinel(client: NodeRedisClient): boolean {
  return hasMethods(client, ['getSentinelNode']);
}

/** `createSentinel` sends a command again that rejects while its connection is lost. So the command does not reject. */
function sendOnce(sentinel: GivenSentinel): Send {
  return async (_, args) => {
    // oxlint-disable-next-line no-underscore-dangle -- only there it sends a command without sending it again
    const outcome = await sentinel._execute(false, (client) =>
      client.sendCommand(args, AS_SENT).then(
        (answer) => ({ answer }),
        (error: unknown) => ({ error }),
      ),
    );
    if ('error' in outcome) throw outcome.error;
    return outcome.answer;
  };
}

async function worded<T>(answer: Promise<T>, words: (thrown: unknown) => Error): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw words(error);
  }
}

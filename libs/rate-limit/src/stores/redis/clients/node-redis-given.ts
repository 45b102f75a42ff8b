import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterMap, ConnectionState, RedisConnection, StoreClient } from './client.js';
import { AS_SENT, type NodeRedis, NodeRedisBase, prefixOf } from './node-redis.js';
import { hasMethods, type NodeRedisClient } from './redis-client.js';

const TRY_AGAIN_MS = 100;
const MAX_TRIES_AGAIN = 16;

interface Node {
  readonly address: string;
  readonly client?: NodeRedis;
}

/** What is used of a `createCluster`. */
interface GivenCluster {
  readonly slots: readonly ({ readonly master?: Node } | undefined)[];
  readonly masters: readonly Node[];
  readonly nodeByAddress: ReadonlyMap<string, Node>;
  sendCommand(key: string, isReadonly: boolean, args: readonly string[], options: object): Promise<unknown>;
}

/** What is used of a `createSentinel`. */
interface GivenSentinel {
  _execute<T>(isReadonly: boolean, call: (client: NodeRedis) => Promise<T>): Promise<T>;
}

type Send = (args: readonly string[], key: string | undefined) => Promise<unknown>;

/** A client of the application, which is used as it is. */
class GivenNodeRedis extends NodeRedisBase {
  constructor(
    protected readonly send: Send,
    keyPrefix: string,
    readonly cluster: ClusterMap | undefined,
  ) {
    super(keyPrefix);
  }
}

/** The connection of a `createCluster` to one of its nodes. The Cluster prefixes keys, its connections do not. */
class GivenConnection extends GivenNodeRedis implements RedisConnection {
  constructor(private readonly client: NodeRedis) {
    super((args) => client.sendCommand(args, AS_SENT), '', undefined);
  }

  override get state(): ConnectionState {
    if (this.client.isReady) return 'ready';
    return this.client.isOpen ? 'connecting' : 'ended';
  }
}

/** The nodes of a `createCluster`. The client belongs to the application, so they are not watched. */
function nodesOf(cluster: GivenCluster): ClusterMap {
  const known = new WeakMap<object, RedisConnection>();
  return {
    masterOf: (slot) => cluster.slots[slot]?.master?.address,
    masters: () => new Set(cluster.masters.map(({ address }) => address)),
    connectionOf: (node) => {
      const client = cluster.nodeByAddress.get(node)?.client;
      if (client === undefined || !hasMethods(client, ['sendCommand'])) return undefined;
      if (!known.has(client)) known.set(client, new GivenConnection(client));
      return known.get(client);
    },
    onConnection: () => undefined,
    onSlots: () => undefined,
    refresh: () => undefined,
  };
}

/** Adapts a client of the application. */
export function givenNodeRedis(client: NodeRedisClient): StoreClient {
  const { _keyPrefix, options } = client as { _keyPrefix?: string; options?: { keyPrefix?: string } };
  const keyPrefix = prefixOf(_keyPrefix ?? options?.keyPrefix);
  if (isNodeRedisSentinel(client))
    return new GivenNodeRedis(sendOnce(client as unknown as GivenSentinel), keyPrefix, undefined);
  if (!isNodeRedisCluster(client)) {
    return new GivenNodeRedis((args) => (client as NodeRedis).sendCommand(args, AS_SENT), keyPrefix, undefined);
  }
  const cluster = client as unknown as GivenCluster;
  return new GivenNodeRedis(sendToSlot(cluster), keyPrefix, nodesOf(cluster));
}

export function isNodeRedisCluster(client: NodeRedisClient): boolean {
  return hasMethods(client, ['nodeClient']);
}

export function isNodeRedisSentinel(client: NodeRedisClient): boolean {
  return hasMethods(client, ['getSentinelNode']);
}

/** While a slot moves, a call may find its keys on two nodes, which run nothing then: `createCluster` does not send it again. */
function sendToSlot(cluster: GivenCluster): Send {
  return async (args, key) => {
    for (let again = 0; ; again++) {
      try {
        return await cluster.sendCommand(key!, false, args, AS_SENT);
      } catch (error) {
        if (again === MAX_TRIES_AGAIN || !String((error as Partial<Error>).message).startsWith('TRYAGAIN')) throw error;
      }
      await delay(TRY_AGAIN_MS);
    }
  };
}

/** `createSentinel` sends a command again that rejects while its connection is lost. So the command does not reject. */
function sendOnce(sentinel: GivenSentinel): Send {
  return async (args) => {
    const call = (client: NodeRedis): Promise<[PromiseSettledResult<unknown>]> =>
      Promise.allSettled([client.sendCommand(args, AS_SENT)]);
    // oxlint-disable-next-line no-underscore-dangle -- only there it sends a command without sending it again
    const [outcome] = await sentinel._execute(false, call);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
}

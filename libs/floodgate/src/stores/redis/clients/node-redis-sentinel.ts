import { ConnectionError } from './client-failure.js';
import { type Address, type CreateClient, mapped, type NodeRedisOptions, prefixOf, promised } from './node-redis.js';
import { askAny, NodeRedisConnection } from './node-redis-connection.js';
import { unheld } from '../../../util/runtime.js';

/** Milliseconds until the Sentinels are asked again whether the master is the same. */
const WATCH_MS = 1000;

/** What is used of the options of `createSentinel`. */
export interface NodeRedisSentinelOptions extends NodeRedisOptions {
  readonly name: string;
  readonly sentinelRootNodes: readonly Address[];
  readonly nodeClientOptions?: NodeRedisOptions;
  readonly sentinelClientOptions?: NodeRedisOptions;
}

/** The master that the Sentinels of a `createSentinel` name, by a connection that the store opens. */
export function ownedNodeRedisSentinel(options: NodeRedisSentinelOptions, create: CreateClient): NodeRedisConnection {
  const { name, nodeClientOptions: node, nodeAddressMap } = options;
  const sentinels = options.sentinelRootNodes.map((sentinel) => {
    const address = mapped(nodeAddressMap, sentinel);
    return new NodeRedisConnection((signal) => create(promised(options.sentinelClientOptions, signal, address)));
  });
  const master = (): Promise<Address> =>
    askAny(sentinels, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name], (address) => {
      if (!Array.isArray(address)) throw new Error(`the Sentinel knows no master ${name}`);
      return mapped(nodeAddressMap, { host: String(address[0]), port: Number(address[1]) });
    }).catch((error: Error) => {
      // They may be silent.
      for (const sentinel of sentinels) sentinel.socket?.destroy(error);
      throw new ConnectionError(`no Sentinel names a master of Redis: ${error.message}`, error, false);
    });
  let current: Address | undefined;
  const client = new NodeRedisConnection(
    async (signal) => create(promised(node, signal, (current = await master()))),
    prefixOf(options.keyPrefix ?? node?.keyPrefix),
    node?.database,
  );
  // A replaced master may acknowledge writes that are lost later.
  const look = async (): Promise<void> => {
    if (client.state !== 'ready') return;
    const { host, port } = await master();
    const isSame = host === current?.host && port === current.port;
    if (!isSame) client.socket?.destroy(new Error('the Sentinels name another master'));
  };
  const watch = unheld(setInterval(() => void look().catch(() => undefined), WATCH_MS));
  client.onState((state) => {
    if (state !== 'ended') return;
    clearInterval(watch);
    for (const sentinel of sentinels) sentinel.destroy();
  });
  return client;
}

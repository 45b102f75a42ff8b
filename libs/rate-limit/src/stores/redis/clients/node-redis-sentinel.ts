import { withinLoopTime } from '../../loop-timer.js';
import { ConnectionError } from './client-failure.js';
import { type Address, type CreateClient, mapped, type NodeRedisOptions, prefixOf } from './node-redis.js';
import { NodeRedisConnection, promised } from './node-redis-connection.js';
import { inOurWords } from './node-redis-failure.js';

/** Milliseconds that one Sentinel may take before the next one is asked. */
const SENTINEL_MS = 1000;
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
  const shared = options.RESP === undefined ? {} : { RESP: options.RESP };
  /** The last one that answered comes first. */
  let sentinels = options.sentinelRootNodes.map((sentinel) => {
    const given = { ...shared, ...options.sentinelClientOptions };
    const address = mapped(nodeAddressMap, sentinel);
    return new NodeRedisConnection({ make: (signal) => create(promised(given, signal, address)) });
  });

  async function master(): Promise<Address> {
    let problem = new Error('createSentinel has no sentinelRootNodes');
    for (const sentinel of sentinels) {
      try {
        const command = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name];
        const answer = sentinel.connect().then(() => sentinel.send(command));
        const address = await withinLoopTime(SENTINEL_MS, answer);
        if (!Array.isArray(address)) throw new Error(`the Sentinel knows no master ${name}`);
        sentinels = [sentinel, ...sentinels.filter((one) => one !== sentinel)];
        return mapped(nodeAddressMap, { host: String(address[0]), port: Number(address[1]) });
      } catch (error) {
        problem = inOurWords(error);
        sentinel.socket?.destroy(problem); // it may be silent
      }
    }
    throw new ConnectionError(`no Sentinel names a master of Redis: ${problem.message}`, problem, false);
  }

  let current: Address | undefined;
  const client = new NodeRedisConnection({
    make: async (signal) => create(promised({ ...shared, ...node }, signal, (current = await master()))),
    keyPrefix: prefixOf(options.keyPrefix ?? node?.keyPrefix),
    database: node?.database,
    socket: node?.socket,
  });
  // A replaced master may acknowledge writes that are lost later.
  let watch: NodeJS.Timeout | undefined;
  const look = (): void => {
    const compare = ({ host, port }: Address): void => {
      const isSame = host === current?.host && port === current.port;
      if (!isSame) client.socket?.destroy(new Error('the Sentinels name another master'));
    };
    if (client.state === 'ready') master().then(compare, () => undefined);
  };
  client.onState((state) => {
    if (state === 'ready') watch ??= setInterval(look, WATCH_MS).unref();
    if (state !== 'ended') return;
    clearInterval(watch);
    for (const sentinel of sentinels) sentinel.destroy();
  });
  return client;
}

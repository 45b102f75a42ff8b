import { afterLoopTime } from '../../loop-timer.js';
import { ConnectionError } from './client-failure.js';
import {
  type MakeNodeRedis,
  mapped,
  type NodeRedis,
  type NodeRedisSentinelOptions,
  prefixOf,
  PROMISED,
} from './node-redis.js';
import { askOnce } from './node-redis-ask.js';
import { OwnedNodeRedis } from './node-redis-client.js';
import { inOurWords } from './node-redis-failure.js';
import { NodeRedisLink } from './node-redis-link.js';
import { unawaited } from '../../../util/unawaited.js';

/** Milliseconds that one Sentinel may take before the next one is asked. */
const SENTINEL_MS = 2000;
/** Milliseconds until a Sentinel that is not heard any more is listened to again. */
const AGAIN_MS = 1000;
const MAX_LISTENED = 10;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** The master that the Sentinels of a `createSentinel` name, by a connection that the store opens. */
export function ownedNodeRedisSentinel(options: NodeRedisSentinelOptions, make: MakeNodeRedis): OwnedNodeRedis {
  const { nodeClientOptions: node, nodeAddressMap, RESP } = options;
  const sentinels = new Sentinels(options, make);
  const shared = {
    ...(RESP !== undefined && { RESP }),
    ...node,
    ...PROMISED,
    database: undefined,
    keyPrefix: undefined,
  };
  const client = new OwnedNodeRedis({
    make: async (link) => {
      const master = mapped(nodeAddressMap, await sentinels.master());
      return make({ ...shared, socket: link.socketOf(node?.socket, master) });
    },
    check: expectMaster,
    keyPrefix: prefixOf(options.keyPrefix ?? node?.keyPrefix),
    database: node?.database ?? 0,
    reconnectStrategy: node?.socket?.reconnectStrategy,
  });
  client.onState((state) => {
    // A replaced master acknowledges writes that are lost later.
    if (state === 'ready') sentinels.listen(() => client.replace(new Error('Sentinel has announced another master')));
    else if (state === 'ended') sentinels.close();
  });
  return client;
}

/** A server that was a master may still answer. */
async function expectMaster(link: NodeRedisLink): Promise<void> {
  let role: unknown;
  try {
    role = await link.send(['ROLE']);
  } catch {
    return; // the right may be missing
  }
  const [name] = role as unknown[];
  if (name !== 'master') throw new Error(`the server that the Sentinels name is a ${String(name)}, not a master`);
}

/** The Sentinels of one master. */
class Sentinels {
  /** Those that are known: the last one that answered comes first. */
  private known: Address[];
  private readonly listened = new Map<string, NodeRedisLink | undefined>();
  private readonly timers = new Set<() => void>();
  private isClosed = false;
  private switched: () => void = () => undefined;

  constructor(
    private readonly options: NodeRedisSentinelOptions,
    private readonly make: MakeNodeRedis,
  ) {
    this.known = [...options.sentinelRootNodes];
  }

  /** @throws {Error} when no Sentinel names a master */
  async master(): Promise<Address> {
    const { name } = this.options;
    let problem: Error | undefined;
    for (const sentinel of this.known) {
      try {
        const [master, others] = await askOnce(SENTINEL_MS, this.clientOf(sentinel), async (link) => {
          const address = await link.send(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]);
          // The right may be missing.
          return [address, await link.send(['SENTINEL', 'SENTINELS', name]).catch(() => [])];
        });
        this.learn(sentinel, others);
        if (!Array.isArray(master)) throw new Error(`the Sentinel knows no master ${name}`);
        return { host: String(master[0]), port: Number(master[1]) };
      } catch (error) {
        problem = inOurWords(error);
      }
    }
    const why = problem?.message ?? 'createSentinel has no sentinelRootNodes';
    throw new ConnectionError(`no Sentinel names a master of Redis: ${why}`, problem, false);
  }

  /** Listens to all Sentinels that are known: any of them may be the first one to tell of another master. */
  listen(switched: () => void): void {
    this.switched = switched;
    for (const sentinel of this.known.slice(0, MAX_LISTENED)) unawaited(this.listenTo(sentinel));
  }

  close(): void {
    this.isClosed = true;
    for (const cancel of this.timers) cancel();
    for (const link of this.listened.values()) link?.destroy(new Error('the connection was closed'));
  }

  private learn(sentinel: Address, others: unknown): void {
    const known = new Map([sentinel, ...this.known].map((one) => [nameOf(one), one]));
    for (const other of Array.isArray(others) ? (others as unknown[]) : []) {
      const { ip, port } = fieldsOf(other);
      if (ip !== undefined && port !== undefined) known.set(`${ip}:${port}`, { host: ip, port: Number(port) });
    }
    this.known = [...known.values()];
  }

  private async listenTo(sentinel: Address): Promise<void> {
    const name = nameOf(sentinel);
    if (this.isClosed || this.listened.get(name) !== undefined) return;
    const link: NodeRedisLink = new NodeRedisLink({
      make: this.clientOf(sentinel),
      connected: () => undefined,
      prepare: ({ client }) =>
        client!.subscribe('+switch-master', (message) => {
          if (message.startsWith(`${this.options.name} `)) this.switched();
        }),
      ended: () => {
        this.listened.set(name, undefined);
        if (this.isClosed) return;
        const cancel = afterLoopTime(AGAIN_MS, () => {
          this.timers.delete(cancel);
          if (this.known.some((one) => nameOf(one) === name)) unawaited(this.listenTo(sentinel));
        });
        this.timers.add(cancel);
      },
    });
    this.listened.set(name, link);
    await link.open().catch(() => undefined);
  }

  private clientOf(sentinel: Address): (link: NodeRedisLink) => NodeRedis {
    const { sentinelClientOptions: given, nodeAddressMap, RESP } = this.options;
    return (link) => {
      const shared = { ...(RESP !== undefined && { RESP }), ...given, ...PROMISED };
      return this.make({ ...shared, socket: link.socketOf(given?.socket, mapped(nodeAddressMap, sentinel)) });
    };
  }
}

function nameOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** What a Sentinel tells of another: an object with RESP3, and names and values in turn with RESP2. */
function fieldsOf(told: unknown): Readonly<Record<string, string | undefined>> {
  if (!Array.isArray(told)) return (told ?? {}) as Record<string, string>;
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < told.length; i += 2) fields[String(told[i])] = String(told[i + 1]);
  return fields;
}

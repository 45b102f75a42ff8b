import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from '../redis-server.js';
import { BreakableServer } from './breakable-server.js';
import { until } from './until.js';

const SLOTS = 16_384;
const FORM_LIMIT_MS = 15_000;
const MIGRATE_LIMIT_MS = 5_000;

/** Below the range of the servers' ports and the ephemeral range: a node finds both of its ports free when it restarts. */
const busPortOf = (port: number): number => port - 10_000;

/** One process of a cluster. */
export class ClusterNode extends BreakableServer {
  /** The node's name in the Cluster, which survives a restart. */
  id = '';
}

/** The Cluster as one node sees it. */
interface View {
  /** The owners and their slots, as a text. */
  readonly claims: string;
  /** The owner of each slot, by id. */
  readonly owners: readonly string[];
  /** The master of each replica, by id. */
  readonly copies: ReadonlyMap<string, string>;
}

/** How many nodes a Cluster has. Default three masters, each with a replica. */
export interface ClusterShape {
  readonly masters: number;
  readonly replicas: number;
}

/**
 * A Redis Cluster: real processes on the loopback interface. Slots
 * without an owner fail alone (`cluster-require-full-coverage no`). A replica replaces a lost master after about two seconds.
 */
export class RedisCluster {
  private constructor(
    readonly nodes: readonly ClusterNode[],
    private readonly directory: string,
    private readonly shape: ClusterShape,
  ) {}

  static async start(
    args: readonly string[] = [],
    shape: ClusterShape = { masters: 3, replicas: 3 },
  ): Promise<RedisCluster> {
    // The nodes' names survive here: a server's own directory ends with its process.
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-cluster-'));
    const nodes: ClusterNode[] = [];
    const cluster = new RedisCluster(nodes, directory, shape);
    try {
      const starts = Array.from({ length: shape.masters + shape.replicas }, () => startNode(directory, args));
      for (const start of await Promise.allSettled(starts)) {
        if (start.status === 'fulfilled') nodes.push(new ClusterNode(start.value));
      }
      await Promise.all(starts);
      await cluster.form();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** For `new Cluster(...)`. */
  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  async slotOf(key: string): Promise<number> {
    return this.anyNode.client.cluster('KEYSLOT', key);
  }

  /** The owner of a key's slot, on which the running nodes agree. */
  async masterOf(key: string): Promise<ClusterNode> {
    return this.ownerOf(await this.slotOf(key));
  }

  async ownerOf(slot: number): Promise<ClusterNode> {
    return this.node((await this.agreed()).owners[slot]!);
  }

  /** The owners of slots. */
  async masters(): Promise<ClusterNode[]> {
    return [...new Set((await this.agreed()).owners)].map((id) => this.node(id));
  }

  async replicaOf(master: ClusterNode): Promise<ClusterNode> {
    for (const [copy, of] of (await this.agreed()).copies) if (of === master.id) return this.node(copy);
    throw new Error(`The node on port ${master.port} has no replica`);
  }

  /** A hash tag whose keys lie in a slot of this master. */
  async tagOf(master: ClusterNode): Promise<string> {
    const { owners } = await this.agreed();
    for (let i = 0; ; i++) if (owners[await this.slotOf(`${i}`)] === master.id) return `${i}`;
  }

  /** The name of a user, `<name>-<number>`, whose keys lie in a slot of this master. */
  async userOf(master: ClusterNode, name: string): Promise<string> {
    const { owners } = await this.agreed();
    for (let i = 0; ; i++) if (owners[await this.slotOf(`{user:${name}-${i}}`)] === master.id) return `${name}-${i}`;
  }

  /**
   * Waits until the running nodes agree that each slot has a running owner, and every running replica has its master's data and
   * is known to all. After the loss of a master: until its replacement. After its return: until it is a replica.
   */
  async settled(limitMs = FORM_LIMIT_MS): Promise<void> {
    await until('the cluster has settled', limitMs, () => this.isSettled());
  }

  /** The migration of a slot, for the test to perform step by step. */
  async migration(slot: number, from: ClusterNode, to: ClusterNode): Promise<SlotMigration> {
    return new SlotMigration(slot, from, to, await this.masters());
  }

  /** Performs all steps of a slot's migration. */
  async migrateSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    const migration = await this.migration(slot, from, to);
    await migration.open();
    await migration.moveKeys();
    await migration.close();
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.dispose()));
    rmSync(this.directory, { recursive: true, force: true });
  }

  private get running(): readonly ClusterNode[] {
    return this.nodes.filter(({ runs }) => runs);
  }

  private get anyNode(): ClusterNode {
    const [node] = this.running;
    if (!node) throw new Error('No node runs');
    return node;
  }

  private node(id: string): ClusterNode {
    const node = this.nodes.find((one) => one.id === id);
    if (!node) throw new Error(`No node is named '${id}'`);
    return node;
  }

  private async form(): Promise<void> {
    const count = this.shape.masters;
    const masters = this.nodes.slice(0, count);
    await Promise.all(
      this.nodes.map(async (node, i) => {
        node.id = await node.client.cluster('MYID');
        // A different epoch for each node, so that no two conflict.
        await node.client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
        if (i >= count) return;
        const edge = (share: number): number => Math.floor((SLOTS * share) / count);
        await node.client.call('CLUSTER', 'ADDSLOTSRANGE', edge(i), edge(i + 1) - 1);
      }),
    );
    // Introduce every pair: gossip would take a second longer.
    await Promise.all(
      this.nodes.flatMap((node, i) =>
        this.nodes
          .slice(i + 1)
          .map(({ host, port }) => node.client.call('CLUSTER', 'MEET', host, port, busPortOf(port))),
      ),
    );
    await until('all nodes have met', FORM_LIMIT_MS, async () => {
      const lists = await Promise.all(this.nodes.map(({ client }) => client.cluster('NODES') as Promise<string>));
      return lists.every((list) => this.nodes.every(({ id }) => new RegExp(`^${id} .* connected`, 'm').test(list)));
    });
    const replicas = this.nodes.slice(count);
    await Promise.all(replicas.map(({ client }, i) => client.cluster('REPLICATE', masters[i]!.id)));
    await this.settled();
  }

  private async isSettled(): Promise<boolean> {
    const { running } = this;
    const runs = new Set(running.map(({ id }) => id));
    const views = await this.views();
    const owners = views[0]?.owners;
    if (!owners?.every((owner) => runs.has(owner))) return false;
    if (!views.every((view) => view?.claims === views[0]?.claims)) return false;
    const replicas = running.filter(({ id }) => !owners.includes(id));
    const isCopy = (view: View, id: string): boolean => owners.includes(view.copies.get(id) ?? '');
    if (!views.every((view) => view && replicas.every(({ id }) => isCopy(view, id)))) return false;
    const infos = await Promise.all(running.map(({ client }) => client.cluster('INFO')));
    if (!infos.every((info) => info.includes('cluster_state:ok'))) return false;
    const replications = await Promise.all(running.map(({ client }) => client.info('replication')));
    return replications.every((text, i) =>
      text.includes('role:master') ? owners.includes(running[i]!.id) : text.includes('master_link_status:up'),
    );
  }

  /** The view of each running node; undefined when it did not answer. */
  private async views(): Promise<(View | undefined)[]> {
    const read = async ({ client }: ClusterNode): Promise<View> => viewOf((await client.cluster('NODES')) as string);
    return Promise.all(this.running.map((node) => read(node).catch(() => undefined)));
  }

  /** The running nodes' common view, once they agree. */
  private async agreed(): Promise<View> {
    return until('the nodes agree', FORM_LIMIT_MS, async () => {
      const [first, ...others] = await this.views();
      return others.every((view) => view && first && view.claims === first.claims) && first;
    });
  }
}

/** The migration of a slot from one master to another, which the test performs step by step. */
class SlotMigration {
  constructor(
    readonly slot: number,
    readonly from: ClusterNode,
    readonly to: ClusterNode,
    private readonly masters: readonly ClusterNode[],
  ) {}

  /** Makes the old owner answer ASK for keys that it does not have. */
  async open(): Promise<void> {
    await this.to.client.cluster('SETSLOT', this.slot, 'IMPORTING', this.from.id);
    await this.from.client.cluster('SETSLOT', this.slot, 'MIGRATING', this.to.id);
  }

  /** Moves at most `count` keys, and returns the number of moved keys. */
  async moveKeys(count = Infinity): Promise<number> {
    let moved = 0;
    while (moved < count) {
      const keys = await this.from.client.cluster('GETKEYSINSLOT', this.slot, Math.min(100, count - moved));
      if (keys.length === 0) break;
      const { host, port } = this.to;
      await this.from.client.migrate(host, port, '', 0, MIGRATE_LIMIT_MS, 'KEYS', ...keys);
      moved += keys.length;
    }
    return moved;
  }

  /** Moves the remaining keys, and makes the old owner answer MOVED. */
  async close(): Promise<void> {
    await this.moveKeys();
    // The new owner first: it must not redirect to the old owner after that one has given the slot away.
    const others = this.masters.filter((node) => node !== this.to && node.runs);
    for (const node of [this.to, ...others]) await node.client.cluster('SETSLOT', this.slot, 'NODE', this.to.id);
  }
}

const SETTINGS = {
  'cluster-enabled': 'yes',
  'cluster-announce-ip': '127.0.0.1',
  'cluster-node-timeout': '1000',
  'cluster-require-full-coverage': 'no',
  // A replica takes over however old its data is, and never migrates to another master.
  'cluster-replica-validity-factor': '0',
  'cluster-allow-replica-migration': 'no',
  'repl-diskless-sync-delay': '0',
  'repl-ping-replica-period': '1',
};

function startNode(directory: string, args: readonly string[]): Promise<RedisServer> {
  const settingsOn = (port: number): Record<string, string> => ({
    ...SETTINGS,
    'cluster-port': `${busPortOf(port)}`,
    'cluster-config-file': join(directory, `nodes-${port}.conf`),
  });
  const argsOn = (port: number): string[] =>
    Object.entries(settingsOn(port)).flatMap(([name, value]) => [`--${name}`, value]);
  return RedisServer.start({ args: (port) => [...argsOn(port), ...args] });
}

/** Lines of `<id> <address> <flags> <master or -> <ping> <pong> <epoch> <link> <slot, range or [migration>...`. */
function viewOf(nodes: string): View {
  const owners = Array.from({ length: SLOTS }, () => '');
  const copies = new Map<string, string>();
  const claims: string[] = [];
  for (const line of nodes.trim().split('\n')) {
    const [id = '', , , master = '-', , , , , ...slots] = line.split(' ');
    if (master !== '-') copies.set(id, master);
    const ranges = slots.filter((one) => !one.startsWith('['));
    if (ranges.length > 0) claims.push([id, ...ranges].join(' '));
    for (const range of ranges) {
      const [first, last = first] = range.split('-').map(Number) as [number, number?];
      owners.fill(id, first, last + 1);
    }
  }
  return { claims: claims.toSorted().join('\n'), owners, copies };
}

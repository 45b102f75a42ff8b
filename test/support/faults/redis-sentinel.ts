import { RedisServer } from '../redis-server.js';
import { BreakableServer } from './breakable-server.js';
import { until } from './until.js';

const SENTINELS = 3;
const QUORUM = 2;
/**
 * A Sentinel turns a server that claims to be a master into a replica after four of these periods. The period must exceed the
 * second that the leader of a failover may need to see its success, or the other Sentinels undo the failover.
 */
const PUBLISH_PERIOD_MS = 700;
/**
 * When a master is down, Sentinels ask its replica for INFO every second, whatever the configuration. They do not promote a
 * replica whose last INFO is older than five of these periods.
 */
const PING_PERIOD_MS = 300;
const LIMIT_MS = 15_000;

/**
 * A master, its replica, and three Sentinels of which two have to agree: real processes on the loopback interface. The
 * replica replaces a lost master after one to three seconds. The first Sentinel starts the failover, and the others vote.
 */
export class RedisSentinel {
  /** The master's name for the Sentinels. */
  readonly name = 'floodgate';
  private readonly servers: BreakableServer[] = [];
  private readonly sentinels: BreakableServer[] = [];

  private constructor() {}

  static async start(): Promise<RedisSentinel> {
    const sentinel = new RedisSentinel();
    try {
      await sentinel.form();
      return sentinel;
    } catch (error) {
      await sentinel.stop();
      throw error;
    }
  }

  /** For `new Redis({ sentinels, name })`. */
  get addresses(): { host: string; port: number }[] {
    return this.sentinels.map(({ host, port }) => ({ host, port }));
  }

  /** The Sentinels' processes, which a test may also kill or stop. */
  get watchers(): readonly BreakableServer[] {
    return this.sentinels;
  }

  /** The master on which all running Sentinels agree. */
  async master(): Promise<BreakableServer> {
    return until('the Sentinels agree', LIMIT_MS, async () => {
      const ports = await Promise.all(this.watching.map((sentinel) => this.masterPort(sentinel)));
      return new Set(ports).size === 1 && this.servers.find(({ port }) => port === ports[0]);
    });
  }

  /** The other server. */
  async replica(): Promise<BreakableServer> {
    const master = await this.master();
    return this.servers.find((server) => server !== master)!;
  }

  /** A planned failover: the replica takes over while the master lives. */
  async failover(): Promise<void> {
    const replica = await this.replica();
    // Sentinels reject it until an earlier failover has ended.
    await until('a Sentinel begins', LIMIT_MS, () => this.watching[0]?.client.call('SENTINEL', 'FAILOVER', this.name));
    await until('the replica has taken over', LIMIT_MS, async () => (await this.master()) === replica);
  }

  /**
   * Waits until the Sentinels' master runs and confirms its role, and the other server, if it runs, is its replica with all data.
   * After the loss of the master: until its replacement.
   */
  async settled(limitMs = LIMIT_MS): Promise<void> {
    await until('the Sentinels have settled', limitMs, () => this.isSettled());
  }

  async stop(): Promise<void> {
    // The Sentinels end first: they would replace a server that ends.
    await Promise.all(this.sentinels.map((sentinel) => sentinel.dispose()));
    await Promise.all(this.servers.map((server) => server.dispose()));
  }

  private get watching(): readonly BreakableServer[] {
    return this.sentinels.filter(({ runs }) => runs);
  }

  private async form(): Promise<void> {
    const quick = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
    const master = new BreakableServer(await RedisServer.start({ args: quick }));
    this.servers.push(master);
    const replicaOf = ['--replicaof', master.host, `${master.port}`];
    const starts = [
      RedisServer.start({ args: [...quick, ...replicaOf] }).then(
        (server) => void this.servers.push(new BreakableServer(server)),
      ),
      ...Array.from({ length: SENTINELS }, async () => {
        const server = new BreakableServer(await RedisServer.start({ sentinel: true }));
        this.sentinels.push(server);
        await this.watch(server, master);
      }),
    ];
    await Promise.allSettled(starts);
    await Promise.all(starts);
    await until('the Sentinels know each other and the replica', LIMIT_MS, async () => {
      const knows = await Promise.all(this.sentinels.map((sentinel) => this.knowsAll(sentinel)));
      return knows.every(Boolean);
    });
    for (const [i, { client }] of this.sentinels.entries()) {
      await client.call('SENTINEL', 'DEBUG', 'PUBLISH-PERIOD', PUBLISH_PERIOD_MS);
      // Only the first starts a failover. Sentinels that notice the loss within the same millisecond vote for themselves.
      if (i > 0) await client.call('SENTINEL', 'SET', this.name, 'quorum', SENTINELS + 1);
    }
    await this.settled();
  }

  private async watch({ client }: BreakableServer, { host, port }: BreakableServer): Promise<void> {
    // Shorter periods than the default, with which Sentinels need up to ten seconds to find each other.
    await client.call('SENTINEL', 'DEBUG', 'INFO-PERIOD', 100, 'PUBLISH-PERIOD', 100, 'PING-PERIOD', PING_PERIOD_MS);
    await client.call('SENTINEL', 'MONITOR', this.name, host, port, QUORUM);
    const settings = ['down-after-milliseconds', 500, 'failover-timeout', 2000];
    await client.call('SENTINEL', 'SET', this.name, ...settings);
  }

  private async knowsAll({ client }: BreakableServer): Promise<boolean> {
    const others = (await client.call('SENTINEL', 'SENTINELS', this.name)) as unknown[];
    const replicas = (await client.call('SENTINEL', 'REPLICAS', this.name)) as unknown[];
    const quorum = await client.call('SENTINEL', 'CKQUORUM', this.name);
    const can = String(quorum).startsWith(`OK ${SENTINELS} usable`);
    return others.length === SENTINELS - 1 && replicas.length === 1 && can;
  }

  private async masterPort({ client }: BreakableServer): Promise<number> {
    const [, port] = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.name)) as [string, string];
    return Number(port);
  }

  private async isSettled(): Promise<boolean> {
    const ports = await Promise.all(this.watching.map((sentinel) => this.masterPort(sentinel)));
    const told = await Promise.all(
      this.servers
        .filter(({ runs }) => runs)
        .map(async ({ port, client }) => ({ port, info: await client.info('replication') })),
    );
    const [port] = ports;
    if (!ports.every((other) => other === port) || !told.some((server) => server.port === port)) return false;
    return told.every(({ port: own, info }) =>
      own === port
        ? info.includes('role:master')
        : info.includes(`master_port:${port}\r\n`) && info.includes('master_link_status:up'),
    );
  }
}

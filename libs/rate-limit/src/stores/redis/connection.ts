import { Logger } from '@nestjs/common';
import { FixedWindow } from '../../algorithms/fixed-window.js';
import type { RateLimitModuleOptions } from '../../nest/options/module-options.js';
import { type Charge, RateLimitStoreError, type Verdict } from '../store.js';
import { Health } from './health.js';
import { withinLoopTime } from '../loop-timer.js';
import { ConnectionWatchdog } from './connection-watchdog.js';
import { RedisStore, type RedisStoreOptions } from './redis.store.js';
import {
  backoff,
  type ClusterNodeConnection,
  opensItself,
  type OwnedRedisClient,
  type RedisOptions,
} from './redis-client.js';
import { isDisconnection, isTrouble } from './redis-failure.js';
import { isSharded } from './cross-slot.js';
import { Batch, type PendingRequest } from './batch.js';

/** Boot and shutdown wait no longer for a server that accepts connections and answers nothing. */
const BOOT_PATIENCE_MS = 1000;
const CLOSE_PATIENCE_MS = 500;
/** The longest back-off: what ended the attempts may last. */
const AGAIN = Infinity;
/** What a probe charges: needs all that a decision needs, always writes, and is gone after a second. */
const PROBE = new FixedWindow(1_000_000_000, 1_000_000);
/** Names tried to find a probe's key in a slot of some node: one slot takes 16,000 on average, which are 2 ms. */
const MAX_PROBE_KEYS = 100_000;

/**
 * A `RedisStore` on a client that is its own: it connects at boot, closes at shutdown, and asks nothing of a Redis that does
 * not answer. Before a question stand the state of the connection and the breaker (of a Cluster's node, one of its own),
 * behind it the deadline.
 */
export class ConnectedRedisStore extends RedisStore {
  private readonly logger = new Logger('RateLimit');
  private readonly health: Health;
  /** Not for a Cluster, which has one for each node. */
  private readonly watchdog: ConnectionWatchdog | undefined;
  private readonly nodeWatchdogs = new WeakMap<ClusterNodeConnection, ConnectionWatchdog>();
  /** Of a Cluster's nodes, from their first trouble on. */
  private readonly nodes = new Map<string, Health>();
  /** The connection's last error, which its closing does not repeat. */
  private lastError = '';
  private closed = false;

  /**
   * @param probeKey where probes count, under the key prefix; the number tells one from the other
   * @param onStateChange called when Redis, or a node of it, stops deciding and when it decides again
   */
  constructor(
    private readonly connection: OwnedRedisClient,
    private readonly settings: RedisStoreOptions,
    private readonly probeKey: (number: number) => string,
    private readonly onStateChange?: RateLimitModuleOptions['onStoreStateChange'],
  ) {
    super(connection, settings);
    this.health = new Health({
      probe: () => this.counted(this.probe()),
      ...(onStateChange && { onChange: onStateChange }),
    });
    if (connection.isCluster === true) {
      connection.on('+node', (node) => void this.nodeWatchdogs.set(node, this.watch(node)));
    } else {
      this.watchdog = this.watch(connection);
    }
    connection.on('error', (error) => (this.lastError = error.message || error.name));
    connection.on('close', () => this.disconnected());
    connection.on('ready', () => this.health.probeNow());
    connection.on('end', () => this.connectAgain());
  }

  /** Throws at once while Redis, or one of the nodes that a request needs, is away: nothing is charged then. */
  override consume(charges: readonly Charge[]): Promise<Verdict> {
    if (!this.health.isUnavailable && this.connection.status !== 'ready') this.disconnected();
    const away = this.health.away;
    if (away !== undefined) throw away;
    for (let i = 0; i < charges.length && this.nodes.size > 0; i++) {
      if (isSharded(charges[i]!)) continue; // another shard may be asked
      const nodeAway = this.nodeOf(this.slotOf(charges[i]!.key))?.away;
      if (nodeAway !== undefined) throw nodeAway;
    }
    return super.consume(charges);
  }

  /** @internal */
  override enqueue(pending: PendingRequest): void {
    const away = this.nodes.size > 0 && this.nodeOf(this.slotOf(pending.charges[0]!.key))?.away;
    if (away) pending.reject(away);
    else super.enqueue(pending);
  }

  /** Goes on when Redis is away: the client keeps trying, and until then requests go by `onStoreFailure`. */
  async connect(): Promise<void> {
    try {
      await withinLoopTime(BOOT_PATIENCE_MS, this.connection.connect());
      await this.warnOfEviction();
    } catch (error) {
      this.trip(this.lastError || (error as Error).message);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const health of [this.health, ...this.nodes.values()]) health.close();
    try {
      await withinLoopTime(CLOSE_PATIENCE_MS, this.connection.quit());
    } catch {
      // It was not connected, or is not answered.
    }
    this.connection.disconnect(); // after a quit, too: what listens to Sentinels for failovers goes only with this
  }

  protected override answered({ slot }: Batch): void {
    if (this.connection.isCluster !== true) this.health.answered();
    else if (this.nodes.size > 0) this.nodeOf(slot)?.answered();
  }

  protected override failed(error: Error, batch: Batch): RateLimitStoreError {
    // A node of a Cluster in trouble must not keep the others from being asked.
    if (this.connection.isCluster === true) {
      const health = this.nodeOf(batch.slot, true);
      if (error instanceof RateLimitStoreError)
        this.nodeWatchdog(this.connection.slots?.[batch.slot]?.[0])?.missedDeadline();
      health?.failed(error);
      return health?.away ?? super.failed(error, batch);
    }
    if (error instanceof RateLimitStoreError) this.watchdog?.missedDeadline();
    if (isDisconnection(error)) this.disconnected();
    else this.health.failed(error);
    return this.health.away ?? super.failed(error, batch);
  }

  private disconnected(): void {
    this.trip(this.lastError || 'the connection was closed');
  }

  /**
   * ioredis gives up for good when its connector fails: a failover that Sentinel announces while the master is looked for, a
   * `sentinelRetryStrategy` that ends, a connector of the application that rejects.
   */
  private connectAgain(): void {
    if (this.closed || this.connection.isCluster === true) return;
    this.disconnected();
    const again = (): void => {
      if (!this.closed) this.connection.connect().catch(() => undefined);
    };
    setTimeout(again, backoff(AGAIN)).unref();
  }

  private trip(reason: string): void {
    this.health.trip(reason);
    this.lastError = '';
  }

  /** The health of the node that has a slot, as the client knows it; one in which nothing has failed yet has none. */
  private nodeOf(slot: number, failed = false): Health | undefined {
    const node = this.connection.slots?.[slot]?.[0];
    if (node === undefined) return undefined;
    let health = this.nodes.get(node);
    if (health === undefined && failed && !this.closed) {
      const { onStateChange } = this;
      health = new Health({
        node,
        probe: () => this.counted(this.probeNode(node)),
        ...(onStateChange && { onChange: onStateChange }),
      });
      this.nodes.set(node, health);
    }
    return health;
  }

  /** An outage counts up, though nobody asks. */
  private async counted(probe: Promise<void>): Promise<void> {
    try {
      await probe;
    } catch (error) {
      this.settings.monitor?.probeFailed();
      throw error;
    }
  }

  /** The connection as a whole: of a Cluster it is there once the nodes are known, and each of them has its own probe. */
  private async probe(): Promise<void> {
    if (this.connection.isCluster !== true) await this.decideForNobody(this.probeKey(0), this.watchdog);
    else if (this.connection.status !== 'ready') throw new Error('no node is connected');
  }

  /** A node that has lost all its slots is not asked any more, so that nothing is wrong with it. */
  private async probeNode(node: string): Promise<void> {
    this.connection.refreshSlotsCache?.();
    if (this.connection.slots?.some((owners) => owners?.[0] === node) !== true) return;
    for (let i = 0; i < MAX_PROBE_KEYS; i++) {
      const key = this.probeKey(i);
      if (this.connection.slots?.[this.slotOf(key)]?.[0] === node) {
        return this.decideForNobody(key, this.nodeWatchdog(node));
      }
    }
  }

  /** A decision that nobody asked for. What it says does not matter: Redis could say it. */
  private async decideForNobody(key: string, watchdog: ConnectionWatchdog | undefined): Promise<void> {
    const batch = new Batch();
    batch.add({
      charges: [{ key, algorithm: PROBE, cost: 1 }],
      resolve: () => undefined,
      reject: () => undefined,
      next: undefined,
    });
    const answer = this.evaluate(batch);
    try {
      await (this.settings.deadlines?.within(answer) ?? answer);
    } catch (error) {
      if (error instanceof RateLimitStoreError) watchdog?.missedDeadline();
      if (isTrouble(error as Error)) throw error;
    }
  }

  private watch(connection: OwnedRedisClient | ClusterNodeConnection): ConnectionWatchdog {
    const options = (connection as { options?: RedisOptions }).options ?? {};
    return new ConnectionWatchdog(connection, this.settings.deadlines?.ms ?? 0, opensItself(options));
  }

  /** @param node host and port, as the slots name it */
  private nodeWatchdog(node: string | undefined): ConnectionWatchdog | undefined {
    const connection = this.connection.nodes?.().find(({ options: { host, port } }) => `${host}:${port}` === node);
    return connection && this.nodeWatchdogs.get(connection);
  }

  /** A Redis that evicts keys resets limits, and says nothing. */
  private async warnOfEviction(): Promise<void> {
    try {
      const policy =
        /^maxmemory_policy:(\S+)/m.exec(await withinLoopTime(BOOT_PATIENCE_MS, this.connection.info('memory')))?.[1] ??
        'noeviction';
      if (policy === 'noeviction') return;
      this.logger.warn(
        `Redis may evict keys, which resets limits: maxmemory-policy should be noeviction, is ${policy}`,
      );
    } catch {
      // It may not ask.
    }
  }
}

import { withHelp } from '../../util/error-codes.js';
import type { Charge } from '../charge.js';
import { withinLoopTime } from '../loop-timer.js';
import { RateLimitStoreError } from '../store.js';
import type { Availability } from './availability.js';
import { ClusterNodes } from './cluster-nodes.js';
import { ConnectionWatchdog } from './connection-watchdog.js';
import { Health, type HealthListeners } from './health.js';
import { backoff, opensItself } from './open-redis.js';
import type { Probe } from './probe.js';
import type { OwnedRedisClient } from './redis-client.js';
import type { RedisConnectionOptions } from './redis-options.js';
import { isDisconnection, type RedisUnavailableError } from './redis-failure.js';
import type { ClusterRouting } from './routing.js';

/** Boot and shutdown wait no longer for a server that accepts connections and answers nothing. */
const BOOT_PATIENCE_MS = 1000;
const CLOSE_PATIENCE_MS = 500;
/** The longest back-off: the cause that ended the attempts may last. */
const AGAIN = Infinity;

/**
 * The connection of a client that the store opened: connects at boot, closes at shutdown, and keeps requests from a Redis that
 * does not answer. A breaker and a watchdog watch it; on a Cluster each node has its own.
 */
export class Connection implements Availability {
  private readonly health: Health;
  /** Undefined on a Cluster: each node has its own. */
  private readonly watchdog: ConnectionWatchdog | undefined;
  private readonly nodes: ClusterNodes | undefined;
  /** The connection's last error. The `close` event does not repeat it. */
  private lastError = '';
  private closed = false;

  /**
   * @param routing of a Cluster; undefined: one server, or Sentinel
   * @param deadlineMs milliseconds that an answer may take
   */
  constructor(
    private readonly client: OwnedRedisClient,
    private readonly probe: Probe,
    routing: ClusterRouting | undefined,
    deadlineMs: number,
    private readonly listeners: HealthListeners,
  ) {
    this.health = new Health({ ...listeners, probe: () => this.ask() });
    if (routing !== undefined) {
      this.nodes = new ClusterNodes(client, routing, probe, deadlineMs, listeners);
    } else {
      const { options = {} } = client as { options?: RedisConnectionOptions };
      this.watchdog = new ConnectionWatchdog(client, deadlineMs, opensItself(options));
    }
    client.on('error', (error) => (this.lastError = error.message || error.name));
    client.on('close', () => this.disconnected());
    client.on('ready', () => this.health.probeNow());
    client.on('end', () => this.connectAgain());
  }

  check(charges: readonly Charge[]): RedisUnavailableError | undefined {
    if (!this.health.isUnavailable && this.client.status !== 'ready') this.disconnected();
    return this.health.unavailable ?? this.nodes?.check(charges);
  }

  checkLane(lane: number): RedisUnavailableError | undefined {
    return this.nodes?.checkLane(lane);
  }

  answered(lane: number): void {
    if (this.nodes === undefined) this.health.answered();
    else this.nodes.answered(lane);
  }

  failed(error: Error, lane: number): RateLimitStoreError {
    if (this.nodes !== undefined) return this.nodes.failed(error, lane);
    if (error instanceof RateLimitStoreError) this.watchdog?.missedDeadline();
    if (isDisconnection(error)) this.disconnected();
    else this.health.failed(error);
    return this.health.failureOf(error);
  }

  /** Succeeds when Redis is unavailable, too: the client keeps trying, and until then requests go by `onStoreFailure`. */
  async open(): Promise<void> {
    try {
      await withinLoopTime(BOOT_PATIENCE_MS, this.client.connect());
      await this.warnOfEviction();
    } catch (error) {
      this.trip(this.lastError || (error as Error).message);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.health.close();
    this.nodes?.close();
    try {
      await withinLoopTime(CLOSE_PATIENCE_MS, this.client.quit());
    } catch {
      // The client was not connected, or Redis does not answer.
    }
    this.client.disconnect(); // also after a quit: only this ends the connections that watch Sentinels for failovers
  }

  private disconnected(): void {
    this.trip(this.lastError || 'the connection was closed');
  }

  /**
   * Connects again after ioredis has given up for good, which it does when its connector fails: Sentinel announces a failover
   * while ioredis looks for the master, `sentinelRetryStrategy` ends, or a connector of the application rejects.
   */
  private connectAgain(): void {
    if (this.closed || this.nodes !== undefined) return;
    this.disconnected();
    const again = (): void => {
      if (!this.closed) this.client.connect().catch(() => undefined);
    };
    setTimeout(again, backoff(AGAIN)).unref();
  }

  private trip(reason: string): void {
    this.health.trip(reason);
    this.lastError = '';
  }

  /** On a Cluster the connection is there once the nodes are known, and each node has its own probe. */
  private async ask(): Promise<void> {
    if (this.nodes === undefined) await this.probe.ask(this.probe.keyOf(0), this.watchdog);
    else if (this.client.status !== 'ready') throw new Error('no node is connected');
  }

  /** A Redis that evicts keys resets limits without an error. */
  private async warnOfEviction(): Promise<void> {
    let memory: string;
    try {
      memory = await withinLoopTime(BOOT_PATIENCE_MS, this.client.info('memory'));
    } catch {
      return; // INFO may be forbidden
    }
    const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(memory) ?? [];
    if (policy === 'noeviction') return;
    this.listeners.logger.warn(
      withHelp(
        `Redis may evict keys, which resets limits: maxmemory-policy should be noeviction, is ${policy}`,
        'FG_REDIS_EVICTS',
      ),
    );
  }
}

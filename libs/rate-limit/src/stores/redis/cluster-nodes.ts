import type { Charge } from '../charge.js';
import { RateLimitStoreError } from '../store.js';
import { ConnectionWatchdog } from './connection-watchdog.js';
import { Health, type HealthListeners } from './health.js';
import type { Probe } from './probe.js';
import { decisionFailure, type RedisUnavailableError } from './redis-failure.js';
import type { ClusterNodeConnection, OwnedRedisClient } from './redis-client.js';
import { opensItself } from './open-redis.js';
import { type ClusterRouting, isSharded } from './routing.js';
import { SLOTS } from './slots.js';

/** Names tried to find a probe's key in a slot of one node. A node of one slot takes 16,000 on average, which are 2 ms. */
const MAX_PROBE_KEYS = 100_000;

/** The nodes of a Cluster: each has a breaker and a watchdog, so that a node in trouble does not affect the others. */
export class ClusterNodes {
  /** By host and port, from a node's first failure on. */
  private readonly health = new Map<string, Health>();
  private readonly watchdogs = new WeakMap<ClusterNodeConnection, ConnectionWatchdog>();
  private closed = false;

  constructor(
    private readonly client: OwnedRedisClient,
    private readonly routing: ClusterRouting,
    private readonly probe: Probe,
    deadlineMs: number,
    private readonly listeners: HealthListeners,
  ) {
    client.on('+node', (node) => {
      this.watchdogs.set(node, new ConnectionWatchdog(node, deadlineMs, opensItself(node.options)));
    });
  }

  /** The failure of a request when a node that it needs is unavailable. */
  check(charges: readonly Charge[]): RedisUnavailableError | undefined {
    if (this.health.size === 0) return undefined;
    for (let i = 0; i < charges.length; i++) {
      if (isSharded(charges[i]!)) continue; // another shard may be available
      const unavailable = this.checkLane(this.routing.slotOf(charges[i]!.key));
      if (unavailable !== undefined) return unavailable;
    }
    return undefined;
  }

  checkLane(lane: number): RedisUnavailableError | undefined {
    return this.health.size === 0 ? undefined : this.healthOf(this.nodeOf(lane))?.unavailable;
  }

  answered(lane: number): void {
    if (this.health.size > 0) this.healthOf(this.nodeOf(lane))?.answered();
  }

  failed(error: Error, lane: number): RateLimitStoreError {
    const node = this.nodeOf(lane);
    if (node === undefined) return decisionFailure(error);
    if (error instanceof RateLimitStoreError) this.watchdogOf(node)?.missedDeadline();
    const health = this.healthOf(node) ?? this.watch(node);
    health?.failed(error);
    return health?.failureOf(error) ?? decisionFailure(error);
  }

  close(): void {
    this.closed = true;
    for (const health of this.health.values()) health.close();
  }

  /** The node of a lane: for a slot its master, as the client knows it. */
  private nodeOf(lane: number): string | undefined {
    return lane < SLOTS ? this.client.slots?.[lane]?.[0] : this.routing.nodeOf(lane);
  }

  private healthOf(node: string | undefined): Health | undefined {
    return node === undefined ? undefined : this.health.get(node);
  }

  /** Begins the health of a node at its first failure. */
  private watch(node: string): Health | undefined {
    if (this.closed) return undefined;
    const health = new Health({ ...this.listeners, node, probe: () => this.probeNode(node) });
    this.health.set(node, health);
    return health;
  }

  /** A node that has lost all its slots is not asked any more, so the probe succeeds. */
  private async probeNode(node: string): Promise<void> {
    this.client.refreshSlotsCache?.();
    if (this.client.slots?.some((owners) => owners?.[0] === node) !== true) return;
    for (let i = 0; i < MAX_PROBE_KEYS; i++) {
      const key = this.probe.keyOf(i);
      if (this.nodeOf(this.routing.slotOf(key)) === node) return this.probe.ask(key, this.watchdogOf(node));
    }
  }

  private watchdogOf(node: string): ConnectionWatchdog | undefined {
    const connection = this.client.nodes?.().find(({ options: { host, port } }) => `${host}:${port}` === node);
    return connection && this.watchdogs.get(connection);
  }
}

import type { Charge } from '../../charge.js';
import { RateLimitStoreError } from '../../store.js';
import { ConnectionWatchdog } from '../connection/connection-watchdog.js';
import { Health, type HealthListeners } from '../connection/health.js';
import type { Lane } from '../batch/lane.js';
import type { Nodes } from '../connection/nodes.js';
import type { Probe } from '../connection/probe.js';
import { decisionFailure, type RedisUnavailableError } from '../connection/redis-failure.js';
import type { ClusterMap, RedisConnection } from '../clients/client.js';
import type { ClusterRouting } from './routing.js';

/** Names tried to find a probe's key in a slot of one node. A node of one slot takes 16,000 on average, which are 2 ms. */
const MAX_PROBE_KEYS = 100_000;

/** The nodes of a Cluster: each has a breaker and a watchdog, so that a node in trouble does not affect the others. */
export class ClusterNodes implements Nodes {
  /** The health of nodes by host and port, from a node's first failure on. */
  private readonly health = new Map<string, Health>();
  private readonly watchdogs = new WeakMap<RedisConnection, ConnectionWatchdog>();
  private closed = false;

  constructor(
    private readonly cluster: ClusterMap,
    private readonly routing: ClusterRouting,
    private readonly probe: Probe,
    deadlineMs: number,
    private readonly listeners: HealthListeners,
  ) {
    cluster.onConnection((connection) => {
      this.watchdogs.set(connection, new ConnectionWatchdog(connection, deadlineMs));
    });
  }

  /** The failure of a request when a node that it needs is unavailable. */
  check(charges: readonly Charge[]): RedisUnavailableError | undefined {
    if (this.health.size === 0) return undefined;
    for (let i = 0; i < charges.length; i++) {
      const lane = this.routing.laneOfCharge(charges[i]!);
      const unavailable = lane && this.checkLane(lane);
      if (unavailable !== undefined) return unavailable;
    }
    return undefined;
  }

  checkLane({ node }: Lane): RedisUnavailableError | undefined {
    return this.healthOf(node)?.unavailable;
  }

  answered({ node }: Lane): void {
    this.healthOf(node)?.answered();
  }

  failed(error: Error, { node }: Lane): RateLimitStoreError {
    if (node === undefined) return decisionFailure(error);
    if (error instanceof RateLimitStoreError) this.watchdogOf(node)?.missedDeadline();
    const health = this.healthOf(node) ?? this.watch(node);
    health?.failed(error);
    return health?.failureOf(error) ?? decisionFailure(error);
  }

  /** Asks every node that has slots for a decision. Rejects where one of them cannot decide. */
  async askAll(probe: Probe): Promise<void> {
    const nodes = this.cluster.masters();
    if (nodes.size === 0) throw new Error('no node of the Redis Cluster has slots');
    const asked = Array.from(nodes, async (node) => {
      const key = this.probeKeyOf(node);
      if (key !== undefined) await probe.ask(key, undefined).catch((error: Error) => fail(node, error));
    });
    await Promise.all(asked);
  }

  close(): void {
    this.closed = true;
    for (const health of this.health.values()) health.close();
  }

  private healthOf(node: string | undefined): Health | undefined {
    return node === undefined || this.health.size === 0 ? undefined : this.health.get(node);
  }

  /** Begins the health of a node at its first failure. */
  private watch(node: string): Health | undefined {
    if (this.closed) return undefined;
    const health = new Health({ ...this.listeners, node, probe: () => this.probeNode(node) });
    this.health.set(node, health);
    return health;
  }

  /** The probe succeeds for a node that has lost all its slots: no request asks it. */
  private async probeNode(node: string): Promise<void> {
    this.cluster.refresh();
    if (!this.cluster.masters().has(node)) return;
    const key = this.probeKeyOf(node);
    if (key !== undefined) await this.probe.ask(key, this.watchdogOf(node));
  }

  private probeKeyOf(node: string): string | undefined {
    for (let i = 0; i < MAX_PROBE_KEYS; i++) {
      const key = this.probe.keyOf(i);
      if (this.routing.laneOfKey(key).node === node) return key;
    }
    return undefined;
  }

  private watchdogOf(node: string): ConnectionWatchdog | undefined {
    const connection = this.cluster.connectionOf(node);
    return connection && this.watchdogs.get(connection);
  }
}

function fail(node: string, error: Error): never {
  throw new Error(`node ${node}: ${error.message}`, { cause: error });
}

import { setTimeout } from '../../../util/real-timers.js';
import { RateLimitConfigError } from '../../../util/config-error.js';
import { withHelp } from '../../../util/error-codes.js';
import { unheld } from '../../../util/runtime.js';
import type { Charge } from '../../charge.js';
import { closingStep, withinLoopTime } from '../../loop-timer.js';
import { RateLimitStoreError } from '../../store.js';
import type { StoreUnavailableError } from '../../unavailable.js';
import type { Availability } from '../batch/availability.js';
import type { Lane } from '../batch/lane.js';
import { backoff } from '../clients/backoff.js';
import type { ConnectionState, OwnedClient } from '../clients/client.js';
import { isDisconnection } from '../clients/client-failure.js';
import { DatabaseRefusedError, expectDatabase } from '../clients/database.js';
import { ConnectionWatchdog } from './connection-watchdog.js';
import { Health, type HealthListeners } from './health.js';
import type { Nodes } from './nodes.js';
import type { Probe } from './probe.js';

/** Boot waits no longer for a server that accepts connections and answers nothing. */
const BOOT_PATIENCE_MS = 1000;
/** How long a boot that needs Redis waits: a server may still read its data. */
export const REQUIRED_PATIENCE_MS = 10_000;
const NOT_STARTED = 'the limiter has not started (await start() before the first decision)';
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
  /** The connection's last error. The state `closed` does not repeat it. */
  private lastError = '';
  private closed = false;
  /** Whether `open` was called. */
  private isOpened = false;
  /** Whether the boot is waiting for a Redis that it requires. */
  private isRequired = false;

  /**
   * @param nodes of a Cluster; undefined: one server, or Sentinel
   * @param deadlineMs milliseconds that an answer may take
   */
  constructor(
    private readonly client: OwnedClient,
    private readonly probe: Probe,
    private readonly nodes: Nodes | undefined,
    deadlineMs: number,
    private readonly listeners: HealthListeners,
  ) {
    this.health = new Health({ ...listeners, probe: () => this.ask() });
    if (nodes === undefined) this.watchdog = new ConnectionWatchdog(client, deadlineMs);
    client.onError(({ message, name }) => (this.lastError = message || name));
    client.onState((state) => this.changed(state));
  }

  check(charges: readonly Charge[]): StoreUnavailableError | undefined {
    if (!this.health.isUnavailable && this.client.state !== 'ready') this.disconnected();
    return this.health.unavailable ?? this.nodes?.check(charges);
  }

  checkLane(lane: Lane): StoreUnavailableError | undefined {
    return this.nodes === undefined ? this.health.unavailable : this.nodes.checkLane(lane);
  }

  answered(lane: Lane): void {
    if (this.nodes === undefined) this.health.answered();
    else this.nodes.answered(lane);
  }

  failed(error: Error, lane: Lane): RateLimitStoreError {
    if (this.nodes !== undefined) return this.nodes.failed(error, lane);
    if (error instanceof RateLimitStoreError) this.watchdog?.missedDeadline();
    if (isDisconnection(error)) this.disconnected();
    else this.health.failed(error);
    return this.health.failureOf(error);
  }

  /**
   * Connects. Succeeds even if Redis is unavailable: the client keeps trying, and until then requests go by `onStoreFailure`.
   *
   * @param where how errors begin
   * @param required asks for a decision: with it, the boot stops unless Redis can decide
   * @throws {RateLimitConfigError} when Redis refuses the database, or cannot decide and has to; the connection is closed then
   */
  async open(where: string, required?: Probe): Promise<void> {
    if (this.closed) return;
    this.isOpened = true;
    this.isRequired = required !== undefined;
    try {
      await withinLoopTime(this.isRequired ? REQUIRED_PATIENCE_MS : BOOT_PATIENCE_MS, this.client.connect());
      await expectDatabase(this.client);
      if (required !== undefined) await withinLoopTime(REQUIRED_PATIENCE_MS, this.askAll(required));
    } catch (error) {
      // oxlint-disable-next-line typescript/no-unnecessary-condition -- `close` ends what is under way
      if (this.closed) return;
      const isRefused = error instanceof DatabaseRefusedError;
      const reason = this.reasonOf(error as Error);
      if (!isRefused && !this.isRequired) return this.trip(reason);
      await this.close();
      throw isRefused ? error.forBoot(where) : requiredError(reason, where);
    }
    this.isRequired = false;
    await this.warnOfEviction();
  }

  /**
   * Without a connection, its own error says more than that of a call which found none. It counts for all calls of the boot: before a
   * password is refused, ioredis 5.4 says that it is ready. With a connection, its last error is that of an earlier attempt.
   */
  private reasonOf(error: Error): string {
    const isAbsent = isDisconnection(error) || this.client.state !== 'ready';
    return isAbsent && this.lastError !== '' ? this.lastError : error.message;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.health.close();
    this.nodes?.close();
    await closingStep(this.client.close()); // it may not be connected, and Redis may not answer
    this.client.destroy();
  }

  private changed(state: ConnectionState): void {
    if (state === 'closed') this.disconnected();
    else if (state === 'ready') this.health.probeNow();
    else if (state === 'ended') this.connectAgain();
  }

  private disconnected(): void {
    this.trip(this.lastError || (this.isOpened ? 'the connection was closed' : NOT_STARTED));
  }

  /**
   * Connects again after the client has given up for good: Sentinel announced a failover while the client looked for the master,
   * its retries have ended, or a connector of the application rejected.
   */
  private connectAgain(): void {
    if (this.closed || this.nodes !== undefined) return;
    this.disconnected();
    const again = (): void => {
      if (!this.closed) this.client.connect().catch(() => undefined);
    };
    unheld(setTimeout(again, backoff(AGAIN)));
  }

  private trip(reason: string): void {
    // The boot stops and reports the reason. No requests are decided yet.
    if (this.isRequired) {
      this.lastError = reason;
      return;
    }
    this.health.trip(reason);
    this.lastError = '';
  }

  /** Asks whether Redis can decide. A Cluster is connected once its nodes are known: each node has its own probe. */
  private async ask(): Promise<void> {
    if (this.nodes === undefined) {
      // A Redis that comes later, or comes back, may lack the database.
      await expectDatabase(this.client).catch((error: Error) => {
        if (error instanceof DatabaseRefusedError) this.health.restate(error.message);
        throw error;
      });
      await this.probe.ask(this.probe.keyOf(0), this.watchdog);
    } else if (this.client.state !== 'ready') throw new Error('no node is connected');
  }

  /** Asks the server, or each node that has slots. */
  private askAll(probe: Probe): Promise<void> {
    return this.nodes === undefined ? probe.ask(probe.keyOf(0), undefined) : this.nodes.askAll(probe);
  }

  /** Warns of an eviction policy: a Redis that evicts keys resets limits without an error. */
  private async warnOfEviction(): Promise<void> {
    let memory: string;
    try {
      memory = String(await withinLoopTime(BOOT_PATIENCE_MS, this.client.command('INFO', 'memory')));
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

/**
 * The error of a boot that needs Redis.
 *
 * @param where how it begins
 */
export function requiredError(reason: string, where: string): RateLimitConfigError {
  return new RateLimitConfigError(
    where,
    `Redis cannot decide: ${reason.replace(/\.$/, '')}. The boot stops, because connect is 'required'; with connect: 'retry' each ` +
      `process would go by onStoreFailure until Redis decides`,
    'FG_REDIS_REQUIRED',
  );
}

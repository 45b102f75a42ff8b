import { Logger } from '@nestjs/common';
import { FixedWindow } from '../../algorithms/fixed-window/fixed-window.js';
import type { RateLimitModuleOptions } from '../../rate-limit.options.js';
import type { Charge, RateLimitStoreError, Verdict } from '../store.js';
import { Breaker } from './breaker.js';
import { RedisStore, type RedisStoreOptions } from './redis.store.js';
import type { OwnedRedisClient } from './redis-client.js';
import { isDisconnection, isTrouble, RedisAwayError } from './redis-failure.js';
import { Slice } from './slice.js';

/** Boot and shutdown wait no longer for a server that accepts connections and answers nothing. */
const BOOT_PATIENCE_MS = 1000;
const CLOSE_PATIENCE_MS = 500;
/** What a probe charges: needs all that a decision needs, always writes, and is gone after a second. */
const PROBE = new FixedWindow(1_000_000_000, 1_000_000);

/**
 * A `RedisStore` on a client that is its own: it connects at boot, closes at shutdown, and asks nothing of a Redis that does
 * not answer. Before a question stand the state of the connection and the breaker, behind it the deadline.
 */
export class ConnectedRedisStore extends RedisStore {
  private readonly logger = new Logger('RateLimit');
  private readonly breaker: Breaker;
  private awaySince = 0;
  private reason = '';
  /** The connection's last error, which its closing does not repeat. */
  private lastError = '';

  /**
   * @param probeKey where probes count, under the key prefix
   * @param onStateChange called when Redis stops deciding and when it decides again
   */
  constructor(
    private readonly connection: OwnedRedisClient,
    private readonly settings: RedisStoreOptions,
    private readonly probeKey: string,
    private readonly onStateChange?: RateLimitModuleOptions['onStoreStateChange'],
  ) {
    super(connection, settings);
    this.breaker = new Breaker({
      probe: () => this.probe(),
      changed: (open, reason) => this.changed(open, reason),
    });
    connection.on('error', (error) => (this.lastError = error.message || error.name));
    connection.on('close', () => this.breaker.trip(this.disconnected()));
    connection.on('ready', () => this.breaker.probeNow());
  }

  /** Throws at once while Redis is away. */
  override consume(charges: readonly Charge[]): Promise<Verdict> {
    if (!this.breaker.open && this.connection.status !== 'ready') this.breaker.trip(this.disconnected());
    if (this.breaker.open) throw this.away();
    return super.consume(charges);
  }

  /** Goes on when Redis is away: the client keeps trying, and until then requests go by `onStoreFailure`. */
  async connect(): Promise<void> {
    try {
      await within(BOOT_PATIENCE_MS, this.connection.connect());
      await this.warnOfEviction();
    } catch (error) {
      this.breaker.trip(this.lastError || (error as Error).message);
    }
  }

  async close(): Promise<void> {
    this.breaker.close();
    try {
      await within(CLOSE_PATIENCE_MS, this.connection.quit());
    } catch {
      // It was not connected, or is not answered.
    }
    this.connection.disconnect(); // after a quit, too: what listens to Sentinels for failovers goes only with this
  }

  protected override answered(): void {
    this.breaker.succeeded();
  }

  protected override failed(error: Error): RateLimitStoreError {
    // A node of a Cluster in trouble must not keep the others from being asked.
    if (this.connection.isCluster === true) return super.failed(error);
    if (isDisconnection(error)) this.breaker.trip(this.disconnected());
    else if (isTrouble(error)) this.breaker.failed(error.message);
    return this.breaker.open ? this.away() : super.failed(error);
  }

  private away(): RedisAwayError {
    return new RedisAwayError(`Redis does not decide: ${this.reason}`);
  }

  private disconnected(): string {
    return this.lastError || 'the connection was closed';
  }

  /** A decision that nobody asked for. What it says does not matter: Redis could say it. */
  private async probe(): Promise<void> {
    const slice = new Slice();
    slice.add({
      charges: [{ key: this.probeKey, algorithm: PROBE, cost: 1 }],
      resolve: () => undefined,
      reject: () => undefined,
      next: undefined,
    });
    const answer = this.evaluate(slice);
    try {
      await (this.settings.deadlines?.within(answer) ?? answer);
    } catch (error) {
      if (!isTrouble(error as Error)) return;
      this.settings.monitor?.probeFailed();
      throw error;
    }
  }

  private changed(open: boolean, reason: string): void {
    if (open) {
      this.awaySince = performance.now();
      this.reason = reason;
      this.logger.warn(`Redis does not decide: ${reason}. Until it does, requests go by onStoreFailure`);
    }
    const outageMs = open ? 0 : Math.round(performance.now() - this.awaySince);
    if (!open) this.logger.log(`Redis decides again, after ${outageMs} ms`);
    this.lastError = '';
    try {
      this.onStateChange?.({ deciding: !open, reason: this.reason, outageMs });
    } catch (error) {
      this.logger.error(`onStoreStateChange failed: ${(error as Error)?.message}`);
    }
  }

  /** A Redis that evicts keys resets limits, and says nothing. */
  private async warnOfEviction(): Promise<void> {
    try {
      const policy =
        /^maxmemory_policy:(\S+)/m.exec(await within(BOOT_PATIENCE_MS, this.connection.info('memory')))?.[1] ??
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

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const impatience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([answer, impatience]);
  } finally {
    clearTimeout(timer);
  }
}

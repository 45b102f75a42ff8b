import { withHelp } from '../../../util/error-codes.js';
import type { Logger } from '../../../util/logger.js';
import { notify } from '../../../util/notify.js';
import { reasonOf } from '../../../util/thrown.js';
import type { RateLimitStoreError } from '../../store.js';
import type { StoreObserver } from '../../denials.js';
import type { StoreStateChange } from '../../store-state.js';
import { Breaker } from './breaker.js';
import { isDisconnection } from '../clients/client-failure.js';
import { decisionFailure, isTrouble, RedisUnavailableError } from './redis-failure.js';
import { StateLog } from './state-log.js';

/** Listeners to changes of availability. */
export interface HealthListeners {
  readonly logger: Logger;
  readonly observer?: StoreObserver | undefined;
  readonly onChange?: ((change: StoreStateChange) => unknown) | undefined;
}

export interface HealthSettings extends HealthListeners {
  /** Host and port of a Cluster's node. Undefined: the connection to Redis, whatever is behind it. */
  readonly node?: string;
  /** Rejects while Redis cannot decide. */
  readonly probe: () => Promise<unknown>;
}

/** Whether one Redis, or one node of a Cluster, is available: a breaker that reports each change to the log and the application. */
export class Health {
  private readonly lines: StateLog;
  private readonly breaker: Breaker;
  private readonly subject: string;
  private since = 0;
  private reason = '';

  constructor(private readonly settings: HealthSettings) {
    const { node, logger } = settings;
    this.lines = new StateLog(logger);
    this.subject = node === undefined ? 'Redis' : `Redis node ${node}`;
    this.breaker = new Breaker({ probe: () => this.probe(), changed: (open, reason) => this.changed(open, reason) });
  }

  get isUnavailable(): boolean {
    return this.breaker.open;
  }

  /** The failure of a request that is not sent; undefined while Redis is available. */
  get unavailable(): RedisUnavailableError | undefined {
    return this.breaker.open ? new RedisUnavailableError(this.text, false) : undefined;
  }

  answered(): void {
    this.breaker.succeeded();
  }

  /** Counts a failed batch. Only lost connections and trouble of Redis count: a bad key says nothing about Redis. */
  failed(error: Error): void {
    if (isDisconnection(error)) this.breaker.trip(error.message);
    else if (isTrouble(error)) this.breaker.failed(error.message);
  }

  /** The failure of requests that were sent. */
  failureOf(error: Error): RateLimitStoreError {
    return this.breaker.open ? new RedisUnavailableError(this.text, true) : decisionFailure(error);
  }

  /** Makes it unavailable at once, for a reason that is certain. */
  trip(reason: string): void {
    this.breaker.trip(reason);
  }

  /** Names another reason why it is unavailable, which a probe has found. */
  restate(reason: string): void {
    if (!this.breaker.open || this.reason === reason) return;
    this.reason = reason;
    this.sayUnavailable();
  }

  /** Probes at once: Redis may be back. */
  probeNow(): void {
    this.breaker.probeNow();
  }

  close(): void {
    this.breaker.close();
    this.lines.close();
  }

  private get text(): string {
    return `${this.subject} is unavailable: ${this.reason}`;
  }

  /** Counts a probe that fails: an outage shows in the metrics without traffic. */
  private async probe(): Promise<void> {
    try {
      await this.settings.probe();
    } catch (error) {
      this.settings.observer?.probeFailed();
      throw error;
    }
  }

  private sayUnavailable(): void {
    this.lines.warn(
      withHelp(`${this.text}. Until it is available again, requests go by onStoreFailure`, 'FG_STORE_UNAVAILABLE'),
    );
  }

  private changed(open: boolean, reason: string): void {
    const { node, logger, onChange } = this.settings;
    if (open) {
      this.since = performance.now();
      this.reason = reason.replace(/\.$/, ''); // Redis ends some messages so, and a sentence follows
      this.sayUnavailable();
    }
    const outageMs = open ? 0 : Math.round(performance.now() - this.since);
    if (!open) this.lines.log(`${this.subject} is available again after ${outageMs} ms`);
    if (onChange === undefined) return;
    const change = { available: !open, reason: this.reason, outageMs, ...(node !== undefined && { node }) };
    notify(onChange, change, (error) =>
      logger.error(withHelp(`onStoreStateChange failed: ${reasonOf(error)}`, 'FG_FUNCTION_FAILED')),
    );
  }
}

import { Logger } from '@nestjs/common';
import type { RateLimitModuleOptions } from '../../nest/options/module-options.js';
import { reasonOf } from '../../util/rationed-warning.js';
import { notify } from '../../util/notify.js';
import { Breaker } from './breaker.js';
import { StateLog } from './state-log.js';
import { isDisconnection, isTrouble, RedisUnavailableError } from './redis-failure.js';

/** Whom the breaker is around, and what it is to ask and to tell. */
export interface HealthSettings {
  /** A node of a Cluster, as host and port; undefined: the connection to Redis, whatever stands behind it. */
  readonly node?: string;
  readonly probe: () => Promise<unknown>;
  readonly onChange?: RateLimitModuleOptions['onStoreStateChange'];
}

/** Whether one Redis, or one node of a Cluster, decides: a breaker that tells each change to the application, and to the log. */
export class Health {
  private readonly logger = new Logger('RateLimit');
  private readonly lines = new StateLog(this.logger);
  private readonly breaker: Breaker;
  private readonly subject: string;
  private since = 0;
  private reason = '';

  constructor(private readonly settings: HealthSettings) {
    const { node, probe } = settings;
    this.subject = node === undefined ? 'Redis' : `Redis's node ${node}`;
    this.breaker = new Breaker({ probe, changed: (open, reason) => this.changed(open, reason) });
  }

  /** What a request fails with while it is not to be asked. */
  get away(): RedisUnavailableError | undefined {
    return this.breaker.open ? new RedisUnavailableError(`${this.subject} does not decide: ${this.reason}`) : undefined;
  }

  /** Whether it is not to be asked. */
  get isUnavailable(): boolean {
    return this.breaker.open;
  }

  answered(): void {
    this.breaker.succeeded();
  }

  /** Of what a question failed with only connectivity counts: a key's own failure says nothing about Redis. */
  failed(error: Error): void {
    if (isDisconnection(error)) this.breaker.trip(error.message);
    else if (isTrouble(error)) this.breaker.failed(error.message);
  }

  /** It is certain that it cannot be asked. */
  trip(reason: string): void {
    this.breaker.trip(reason);
  }

  /** There is reason to think that it is back. */
  probeNow(): void {
    this.breaker.probeNow();
  }

  close(): void {
    this.breaker.close();
    this.lines.close();
  }

  private changed(open: boolean, reason: string): void {
    const { node, onChange } = this.settings;
    if (open) {
      this.since = performance.now();
      this.reason = reason;
      this.lines.warn(`${this.subject} does not decide: ${reason}. Until it does, requests go by onStoreFailure`);
    }
    const outageMs = open ? 0 : Math.round(performance.now() - this.since);
    if (!open) this.lines.log(`${this.subject} decides again, after ${outageMs} ms`);
    if (onChange === undefined) return;
    const change = { available: !open, reason: this.reason, outageMs, ...(node !== undefined && { node }) };
    notify(onChange, change, (error) => this.logger.error(`onStoreStateChange failed: ${reasonOf(error)}`));
  }
}

import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { RateLimiter } from 'nestjs-floodgate';

/**
 * Reports whether the store of the rate limits is available.
 *
 * Without the store each process decides with its share of the limits, and riders are still served. So the status is degraded,
 * not down: a platform that restarts the process would cause the outage that the limiter avoids.
 */
@Injectable()
export class StoreHealthIndicator {
  constructor(
    private readonly health: HealthIndicatorService,
    private readonly limiter: RateLimiter,
  ) {}

  check<const Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const session = this.health.check(key);
    const { available, outageMs } = this.limiter.stats().store;
    // The reason may name hosts, which a prober must not learn. The log has it.
    return available ? session.up() : session.degraded({ outage_ms: Math.round(outageMs) });
  }
}

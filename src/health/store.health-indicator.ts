import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { RateLimiter } from 'nestjs-floodgate';

/**
 * Whether the rate limits' store decides. While it does not, each process decides for itself and everybody is served: that is
 * degraded, not down. Taking the process out of service, or restarting it, would be the outage that the limiter avoids.
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
    // Not why: it may name hosts, and whoever may probe need not know them; the log does.
    return available ? session.up() : session.degraded({ outage_ms: Math.round(outageMs) });
  }
}

import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { RateLimiter } from 'nestjs-floodgate';

/**
 * Reports whether the process rejects requests because it cannot keep up. It serves those that cannot wait, so the status is
 * degraded, not down: without this process, its load would come to the others.
 */
@Injectable()
export class LoadHealthIndicator {
  constructor(
    private readonly health: HealthIndicatorService,
    private readonly limiter: RateLimiter,
  ) {}

  check<const Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const session = this.health.check(key);
    const { shedding } = this.limiter.stats();
    if (shedding?.active !== true) return session.up();
    return session.degraded({ shed_level: shedding.level, over: shedding.threshold });
  }
}

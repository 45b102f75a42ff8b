import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { SkipRateLimit } from 'nestjs-floodgate';
import { StoreHealthIndicator } from './store.health-indicator.js';

@Controller('healthz')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly store: StoreHealthIndicator,
  ) {}

  /** Asked by the platform every few seconds: a refusal would take a healthy process out of service. */
  @Get()
  @HealthCheck()
  @SkipRateLimit()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.store.check('rate_limit_store')]);
  }
}

import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { SkipRateLimit } from 'nestjs-floodgate';
import { LoadHealthIndicator } from './load.health-indicator.js';
import { StoreHealthIndicator } from './store.health-indicator.js';

@ApiTags('Process')
@Controller('healthz')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly store: StoreHealthIndicator,
    private readonly load: LoadHealthIndicator,
  ) {}

  /** The platform asks every few seconds. A 429 would take a healthy process out of service, so the route is not limited. */
  @Get()
  @ApiOperation({ summary: 'Health of the process' })
  @HealthCheck()
  @SkipRateLimit()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.store.check('rate_limit_store'), () => this.load.check('load')]);
  }
}

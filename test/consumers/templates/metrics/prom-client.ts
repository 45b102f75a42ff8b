import { Controller, Get, Module } from '@nestjs/common';
import { RateLimitMetricsModule, SkipRateLimit } from 'nestjs-floodgate';
import { register } from 'prom-client';

@Controller('metrics')
class MetricsController {
  @Get()
  @SkipRateLimit()
  metrics() {
    return register.metrics();
  }
}

@Module({ imports: [RateLimitMetricsModule.forRoot()], controllers: [MetricsController] })
class MetricsModule {}

export const metrics = [MetricsModule];

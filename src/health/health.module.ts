import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { LoadHealthIndicator } from './load.health-indicator.js';
import { StoreHealthIndicator } from './store.health-indicator.js';

@Module({
  imports: [TerminusModule],
  controllers: [HealthController],
  providers: [StoreHealthIndicator, LoadHealthIndicator],
})
export class HealthModule {}

import { Module } from '@nestjs/common';
import { DriversModule } from '../drivers/drivers.module.js';
import { SurgeFactors } from './surge-factors.js';
import { ZoneStatsService } from './zone-stats.service.js';
import { ZoneTraffic } from './zone-traffic.js';
import { ZonesController } from './zones.controller.js';

@Module({
  imports: [DriversModule],
  controllers: [ZonesController],
  providers: [SurgeFactors, ZoneTraffic, ZoneStatsService],
  exports: [SurgeFactors, ZoneTraffic],
})
export class ZonesModule {}

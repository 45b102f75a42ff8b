import { Module } from '@nestjs/common';
import { MatchingModule } from '../matching/matching.module.js';
import { ZoneStatsService } from './zone-stats.service.js';
import { ZoneTraffic } from './zone-traffic.js';
import { ZonesController } from './zones.controller.js';

@Module({
  imports: [MatchingModule],
  controllers: [ZonesController],
  providers: [ZoneTraffic, ZoneStatsService],
  exports: [ZoneTraffic],
})
export class ZonesModule {}

import { Module } from '@nestjs/common';
import { FaresModule } from '../fares/fares.module.js';
import { MatchingModule } from '../matching/matching.module.js';
import { TripsModule } from '../trips/trips.module.js';
import { ZonesModule } from '../zones/zones.module.js';
import { RidesController } from './rides.controller.js';
import { RidesService } from './rides.service.js';

@Module({
  imports: [FaresModule, MatchingModule, TripsModule, ZonesModule],
  controllers: [RidesController],
  providers: [RidesService],
})
export class RidesModule {}

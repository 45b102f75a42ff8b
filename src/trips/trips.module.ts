import { Module } from '@nestjs/common';
import { TripLog } from './trip-log.js';
import { TripsController } from './trips.controller.js';

@Module({
  controllers: [TripsController],
  providers: [TripLog],
  exports: [TripLog],
})
export class TripsModule {}

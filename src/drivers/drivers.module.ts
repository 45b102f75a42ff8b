import { Module } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Clock } from '../time/clock.js';
import { DriverIndex } from './driver-index.js';
import { DriversController } from './drivers.controller.js';
import { LocalDriverIndex } from './local-driver-index.js';
import { seededDrivers } from './seeded-drivers.js';

@Module({
  controllers: [DriversController],
  providers: [
    {
      provide: DriverIndex,
      inject: [Clock, Configuration],
      useFactory: (clock: Clock, { drivers }: Configuration): DriverIndex => {
        const index = new LocalDriverIndex(clock, drivers);
        index.station(seededDrivers(drivers.seeded));
        return index;
      },
    },
  ],
  exports: [DriverIndex],
})
export class DriversModule {}

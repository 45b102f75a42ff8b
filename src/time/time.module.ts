import { Global, Module } from '@nestjs/common';
import { Clock, SystemClock } from './clock.js';
import { Pause, SystemPause } from './pause.js';

@Global()
@Module({
  providers: [
    { provide: Clock, useClass: SystemClock },
    { provide: Pause, useClass: SystemPause },
  ],
  exports: [Clock, Pause],
})
export class TimeModule {}

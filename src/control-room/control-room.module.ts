import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { MatchingModule } from '../matching/matching.module.js';
import { Concert } from './concert.js';
import { ControlRoomController } from './control-room.controller.js';
import { Observer } from './observer.js';
import { RiderPlans } from './rider-plans.js';
import { Trial } from './trial.js';

/** A page that shows the limits at work: lanes, charts, a surge to start and a switch for the limits. */
@Module({
  imports: [AccountsModule, MatchingModule],
  controllers: [ControlRoomController],
  providers: [Concert, Observer, RiderPlans, Trial],
})
export class ControlRoomModule {}

import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { HttpModule } from '../http/http.module.js';
import { MatchingModule } from '../matching/matching.module.js';
import { ControlRoomController } from './control-room.controller.js';
import { Observer } from './observer.js';
import { OwnClients } from './own-clients.js';
import { Pods } from './pods/pods.js';
import { PodsController } from './pods/pods.controller.js';
import { RiderPlans } from './rider-plans.js';
import { StageRedis } from './stage-redis.js';
import { Stage, STAGE_OPTIONS, type StageOptions } from './stage/stage.js';
import { RUN_TIMES } from './stage/surge-run.js';
import { Trial } from './trial.js';

/** A viewer who reloads the page, or comes back soon, finds the worlds running. */
const LINGER_MS = 30_000;

const STAGE: StageOptions = { times: RUN_TIMES, startsWithViewer: true, lingerMs: LINGER_MS };

/** A page that shows the limits at work: a surge that meets two worlds, and a lane for each limited route of this process. */
@Module({
  imports: [AccountsModule, HttpModule, MatchingModule],
  controllers: [ControlRoomController, PodsController],
  providers: [
    { provide: STAGE_OPTIONS, useValue: STAGE },
    Observer,
    OwnClients,
    Pods,
    RiderPlans,
    Stage,
    StageRedis,
    Trial,
  ],
})
export class ControlRoomModule {}

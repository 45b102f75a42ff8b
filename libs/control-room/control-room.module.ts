import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata } from '@nestjs/common';
import { ControlRoomController } from './control-room.controller.js';
import { Observer } from './observer.js';
import { OwnClients } from './own-clients.js';
import { Pods } from './pods/pods.js';
import { PodsController } from './pods/pods.controller.js';
import { RiderPlans } from './rider-plans.js';
import { RoomApplication } from './room-application.js';
import { StageRedis } from './stage-redis.js';
import { Stage, STAGE_OPTIONS, type StageOptions } from './stage/stage.js';
import { RUN_TIMES } from './stage/surge-run.js';
import { Trial } from './trial.js';

/** A viewer who reloads the page, or comes back soon, finds the worlds running. */
const LINGER_MS = 30_000;

const STAGE: StageOptions = { times: RUN_TIMES, startsWithViewer: true, lingerMs: LINGER_MS };

/** How to make the `RoomApplication`, as for any `forRootAsync` of Nest. */
export type ControlRoomOptions = Pick<ModuleMetadata, 'imports'> &
  Pick<FactoryProvider<RoomApplication>, 'inject' | 'useFactory'>;

/**
 * A page that shows the limits at work: a surge that meets two worlds, and a lane for each limited route of this process.
 *
 * The application validates bodies with a global `ValidationPipe`, and imports `RateLimitModule`.
 */
@Module({
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
export class ControlRoomModule {
  static forRootAsync({ imports = [], inject = [], useFactory }: ControlRoomOptions): DynamicModule {
    return {
      module: ControlRoomModule,
      imports,
      providers: [{ provide: RoomApplication, inject, useFactory }],
    };
  }
}

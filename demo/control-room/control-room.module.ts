import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata } from '@nestjs/common';
import { ControlRoomController } from './control-room.controller.js';
import { Pods } from './pods/pods.js';
import { PodsController } from './pods/pods.controller.js';
import { RoomApplication } from './room-application.js';
import { StageRedis } from './stage-redis.js';
import { Stage, STAGE_OPTIONS, type StageOptions } from './stage/stage.js';
import { RUN_TIMES } from './stage/surge-run.js';

/** A viewer who reloads the page, or comes back soon, finds the worlds running. */
const LINGER_MS = 30_000;

/** A page that stays open does not keep two processes that nobody uses. */
const IDLE_MS = 10 * 60_000;

const STAGE: StageOptions = { times: RUN_TIMES, startsWithViewer: true, lingerMs: LINGER_MS, idleMs: IDLE_MS };

/** How to make the `RoomApplication`, as for any `forRootAsync` of Nest. */
export type ControlRoomOptions = Pick<ModuleMetadata, 'imports'> &
  Pick<FactoryProvider<RoomApplication>, 'inject' | 'useFactory'>;

/**
 * A page that shows the limits at work: a rush that meets two worlds, and three pods that share one store.
 *
 * The application validates bodies with a global `ValidationPipe`, and imports `RateLimitModule`.
 */
@Module({
  controllers: [ControlRoomController, PodsController],
  providers: [{ provide: STAGE_OPTIONS, useValue: STAGE }, Pods, Stage, StageRedis],
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

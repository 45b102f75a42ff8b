import type { MatchingSize, WorldSize } from './stage/city.js';

/**
 * What the control room needs to know of the application that it shows: values. The application passes it to
 * `ControlRoomModule.forRootAsync`. This class is its injection token.
 */
export abstract class RoomApplication {
  /** `watch`: the page starts nothing, and rejects every switch. */
  abstract readonly mode: 'on' | 'watch';
  /** The names and addresses that reach the page, besides `localhost`. A request for another host is rejected. */
  abstract readonly hosts: readonly string[];
  abstract readonly surge: RoomSurge;
}

/** What a surge needs: the matching service of this process as a model, and the application as a process of its own. */
export interface RoomSurge {
  readonly matching: MatchingSize;
  /** The script of a world. It calls `runWorld`. */
  readonly script: URL;
  /**
   * The configuration of a world, which `runWorld` passes to the application's module. It crosses processes, so it must be plain data.
   *
   * @param redisUrl undefined: the world keeps its limits in its process
   */
  readonly configuration: (world: WorldSize, redisUrl: string | undefined) => object;
}

/** The load of the matching service. */
export interface MatchingLoad {
  /** Requests that wait for a worker. */
  readonly waiting: number;
}

import type { Type } from '@nestjs/common';
import type { Identity, LimitExplanation, Policy } from 'nestjs-floodgate';
import type { MatchingSize, WorldSize } from './stage/city.js';

/**
 * What the control room needs to know of the application that it shows: values, and a few questions. The application passes it to
 * `ControlRoomModule.forRootAsync`. This class is its injection token.
 */
export abstract class RoomApplication {
  /** `watch`: the page shows the process, which rejects surge, switch and requests. */
  abstract readonly mode: 'on' | 'watch';
  /** The names and addresses that reach the page, besides `localhost`. A request for another host is rejected. */
  abstract readonly hosts: readonly string[];
  /** Whether the process enforces its limits. */
  abstract readonly limited: boolean;
  /** Whether the limits are kept in Redis, and not in this process. */
  abstract readonly usesRedis: boolean;
  /** How many processes share the limits. Without Redis each decides with its share. */
  abstract readonly pods: number;
  /**
   * The riders whose limits the page can show, and who send its requests: the same in every process, so that on one Redis the pages
   * share their limits. The first is shown at first.
   */
  abstract readonly riders: readonly string[];
  /** The limited routes that the page shows, in its order. */
  abstract readonly lanes: readonly RoomLane[];
  abstract readonly surge: RoomSurge;
  abstract readonly routes: RoomRoutes;
  /** The plan of a rider's account; undefined without an account. */
  abstract planOf(rider: string): Promise<string | undefined>;
  /** @throws when the matching service is unavailable */
  abstract matchingLoad(): Promise<MatchingLoad>;
  /** Tells of every request that ends at this process. */
  abstract onAnswer(listener: (answer: RoomAnswer) => void): void;
}

/** A limited route of the application, and the request that its buttons send. */
export interface RoomLane {
  readonly id: string;
  readonly title: string;
  /** The title of its row. Lanes whose policies differ in numbers only share a row. Default: `title`. */
  readonly row?: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The route's pattern, such as `/api/admin/zones/:zone/surge`. */
  readonly path: string;
  readonly policies: readonly Policy[];
  readonly sample: RoomSample;
}

/** The request of a lane's buttons. The second button sends `more` of them at once, which shows the limit. */
export interface RoomSample {
  readonly path: (rider: string) => string;
  readonly body?: (rider: string) => object;
  readonly more: number;
  /** The body for the second button, if it differs. */
  readonly moreBody?: () => object;
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
  /** The route of ride requests. */
  readonly rides: Pick<RoomLane, 'method' | 'path'>;
  /** The policies of ride requests in a world, in the order of the page. */
  readonly policies: (world: WorldSize) => readonly Policy[];
}

/** A handler of an HTTP route. */
export interface RoomRoute {
  readonly method: string;
  readonly path: string;
  readonly controller: Type;
  readonly handler: string;
}

/** The routes of the application, and the limiter's view of them. */
export interface RoomRoutes {
  /** @throws Error for a route that the application does not have */
  find(method: string, path: string): RoomRoute;
  /** What a request of the identity meets at each policy, without a charge. Default plan: the last known one. */
  explain(route: RoomRoute, identity: Identity, options?: { plan?: string | null }): Promise<LimitExplanation>;
}

/** The load of the matching service. */
export interface MatchingLoad {
  readonly workers: number;
  /** Requests that wait for a worker. */
  readonly waiting: number;
  /** Of the last seconds: the busy share of the workers' time, 0 to 1, and milliseconds that requests waited. */
  readonly recent: { readonly utilisation: number; readonly waitMs: { readonly p99: number } };
}

/** A request that has ended. */
export interface RoomAnswer {
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  /** 499: the client left before the answer. */
  readonly status: number;
  readonly tookMs: number;
}

import { extname } from 'node:path';
import type { ControlRoomOptions } from '../demo/control-room/control-room.module.js';
import type { RoomApplication } from '../demo/control-room/room-application.js';
import type { WorldSize } from '../demo/control-room/stage/city.js';
import { ALL_ADDRESSES, type Configuration } from './config/configuration.js';

/** A free driver for every ride of a world: trips are short and drivers many, so that matching is the only bottleneck. */
const WORLD_DRIVERS = 2000;
const WORLD_TRIP_MS = 10_000;

/** What the control room shows of this application. */
export function controlRoom(configuration: Configuration): ControlRoomOptions {
  return {
    useFactory: (): RoomApplication => ({
      mode: configuration.controlRoom === 'on' ? 'on' : 'watch',
      hosts: [...(configuration.bind === ALL_ADDRESSES ? [] : [configuration.bind]), ...configuration.controlRoomHosts],
      surge: {
        matching: { ...configuration.matching, limit: configuration.matchingLimit.perSecond },
        // The build has JavaScript, a test run TypeScript.
        script: new URL(`./world.main${extname(import.meta.url)}`, import.meta.url),
        configuration: (world, redisUrl) => ({ ...worldOf(configuration, world), redisUrl }),
      },
    }),
  };
}

/** The configuration of a world: this process's own numbers, and nothing else of it. */
export function worldOf(own: Configuration, { workers, serviceMs, queue, limit, burst }: WorldSize): Configuration {
  // An ordinary service, whatever protects this process's own.
  const ordinary = { cancels: false, newestFirst: false };
  return {
    ...own,
    port: 0,
    bind: '127.0.0.1',
    http: { ...own.http, shutdownGraceMs: 0 },
    redisUrl: undefined,
    databaseUrl: undefined,
    rateLimit: 'on',
    rateLimitGuard: false,
    shedsLoad: false,
    adminToken: undefined,
    controlRoom: 'off',
    controlRoomHosts: [],
    apiDocs: false,
    pods: 1,
    matching: { ...own.matching, ...ordinary, url: undefined, workers, serviceMs, queue },
    matchingLimit: { perSecond: limit, burst },
    drivers: { ...own.drivers, seeded: WORLD_DRIVERS },
    trips: { ...own.trips, durationMs: WORLD_TRIP_MS },
  };
}

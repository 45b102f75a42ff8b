import { extname } from 'node:path';
import { ConfigService } from '@nestjs/config';
import type { ControlRoomOptions } from '../libs/control-room/control-room.module.js';
import type { RoomApplication, RoomLane } from '../libs/control-room/room-application.js';
import type { WorldSize } from '../libs/control-room/stage/city.js';
import { AccountsModule } from './accounts/accounts.module.js';
import { RiderAccounts } from './accounts/rider-accounts.js';
import { ALL_ADDRESSES, type Configuration } from './config/configuration.js';
import { CENTER } from './geo/position.js';
import { zoneOf } from './geo/zone.js';
import { HttpAnswers } from './http/http-answers.js';
import { HttpModule } from './http/http.module.js';
import {
  FARES,
  HISTORY,
  LOCATION_INDEX,
  MATCHING_LIMIT,
  matchingLimit,
  NEARBY,
  REPORTER,
  RIDES,
  ZONE_STATS,
  ZONE_SURGE,
} from './limits/policies.js';
import { Routes } from './limits/routes.js';
import { Matching } from './matching/matching.js';
import { MatchingModule } from './matching/matching.module.js';

/** Two of the riders of a new database, whose plans differ. */
const RIDERS = ['rider-1', 'rider-2'];

const ITINERARY = { pickup_lat: CENTER.lat, pickup_lng: CENTER.lng, dropoff_lat: 40.7484, dropoff_lng: -73.9857 };

/** A free driver for every ride of a world: trips are short and drivers many, so that matching is the only bottleneck. */
const WORLD_DRIVERS = 2000;
const WORLD_TRIP_MS = 10_000;

/** What the control room shows of this application. */
export function controlRoom(configuration: Configuration): ControlRoomOptions {
  return {
    imports: [AccountsModule, HttpModule, MatchingModule],
    inject: [Routes, RiderAccounts, Matching, HttpAnswers],
    useFactory: (
      routes: Routes,
      accounts: RiderAccounts,
      matching: Matching,
      answers: HttpAnswers,
    ): RoomApplication => ({
      mode: configuration.controlRoom === 'on' ? 'on' : 'watch',
      hosts: [...(configuration.bind === ALL_ADDRESSES ? [] : [configuration.bind]), ...configuration.controlRoomHosts],
      limited: configuration.rateLimit !== 'off',
      usesRedis: configuration.redisUrl !== undefined,
      pods: configuration.pods,
      riders: RIDERS,
      lanes: lanesOf(configuration),
      surge: {
        matching: { ...configuration.matching, limit: configuration.matchingLimit.perSecond },
        // The build has JavaScript, a test run TypeScript.
        script: new URL(`./world.main${extname(import.meta.url)}`, import.meta.url),
        configuration: (world, redisUrl) => ({ ...worldOf(configuration, world), redisUrl }),
        rides: { method: 'POST', path: '/api/rides/request' },
        policies: (world) => [RIDES, ...matchingPolicies(worldOf(configuration, world))],
      },
      routes,
      planOf: async (rider) => (await accounts.find(rider))?.plan,
      matchingLoad: () => matching.statistics(),
      onAnswer: (listener) => answers.listen(listener),
    }),
  };
}

/** The limited routes that simulated riders, drivers and operators use: first those of riders. */
function lanesOf(configuration: Configuration): RoomLane[] {
  const matching = matchingPolicies(configuration);
  const row = 'Requests of riders';
  return [
    {
      id: 'rides',
      title: 'Ride request',
      row,
      method: 'POST',
      path: '/api/rides/request',
      policies: [RIDES, ...matching],
      sample: { path: () => '/api/rides/request', body: (rider_id) => ({ rider_id, ...ITINERARY }), more: 30 },
    },
    {
      id: 'fares',
      title: 'Fare estimate',
      row,
      method: 'POST',
      path: '/api/fares/estimate',
      policies: [FARES, ...matching],
      sample: { path: () => '/api/fares/estimate', body: () => ITINERARY, more: 30 },
    },
    {
      id: 'nearby',
      title: 'Nearby drivers',
      row,
      method: 'GET',
      path: '/api/drivers/nearby',
      policies: [NEARBY, ...matching],
      sample: {
        path: () => `/api/drivers/nearby?lat=${CENTER.lat}&lng=${CENTER.lng}&radius_km=1`,
        more: 40,
      },
    },
    {
      id: 'location',
      title: 'Driver locations',
      method: 'POST',
      path: '/api/drivers/location',
      policies: [LOCATION_INDEX, REPORTER],
      sample: {
        path: () => '/api/drivers/location',
        body: () => positions(30),
        more: 6,
        moreBody: () => positions(500),
      },
    },
    {
      id: 'history',
      title: 'Trip history',
      method: 'GET',
      path: '/api/trips/history',
      policies: [HISTORY],
      sample: { path: (rider) => `/api/trips/history?rider_id=${rider}`, more: 10 },
    },
    {
      id: 'stats',
      title: 'Zone statistics',
      method: 'GET',
      path: '/api/admin/zones/stats',
      policies: [ZONE_STATS],
      sample: { path: () => '/api/admin/zones/stats?limit=1', more: 20 },
    },
    {
      id: 'surge',
      title: 'Surge pricing',
      method: 'PUT',
      path: '/api/admin/zones/:zone/surge',
      policies: [ZONE_SURGE],
      // The default factor, so that no fare changes.
      sample: { path: () => `/api/admin/zones/${zoneOf(CENTER)}/surge`, body: () => ({ factor: 1 }), more: 3 },
    },
  ];
}

/** The policy of matching; none with `RATE_LIMIT=riders`, which never asks it. */
function matchingPolicies(configuration: Configuration): RoomLane['policies'] {
  if (configuration.rateLimit === 'riders') return [];
  return [{ ...matchingLimit(new ConfigService({ ...configuration })), name: MATCHING_LIMIT }];
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

/** Positions of drivers around the garden, as a phone without a connection buffers them. */
function positions(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    driver_id: `control-room-${(i % 30) + 1}`,
    lat: CENTER.lat + 0.0002 * (i % 30),
    lng: CENTER.lng,
  }));
}

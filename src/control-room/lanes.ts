import type { Type } from '@nestjs/common';
import type { Policy } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { DriversController } from '../drivers/drivers.controller.js';
import { FaresController } from '../fares/fares.controller.js';
import { MATCHING_LIMIT, matchingLimit } from '../limits/matching-limit.js';
import { FARES, HISTORY, LOCATION_INDEX, NEARBY, REPORTER, RIDES, ZONE_STATS, ZONE_SURGE } from '../limits/policies.js';
import { RidesController } from '../rides/rides.controller.js';
import { TripsController } from '../trips/trips.controller.js';
import { ZonesController } from '../zones/zones.controller.js';
import type { LaneDescription } from './live.js';
import { parametersOf } from './policy-state.js';
import { type LaneId, SAMPLES } from './trial.js';

/** A limited route. */
export interface Lane {
  readonly description: LaneDescription;
  readonly controller: Type;
  /** The name of its handler. */
  readonly handler: string;
}

/** Every limited route of the application, in the order in which riders, drivers and operators meet them. */
export function lanesOf(configuration: Configuration): Lane[] {
  // Without its limit on matching a process does not ask about it.
  const matching =
    configuration.rateLimit === 'riders' ? [] : [{ ...matchingLimit(configuration), name: MATCHING_LIMIT }];
  const lane = (
    [id, title]: readonly [LaneId, string],
    [method, path]: readonly [string, string],
    [controller, handler]: readonly [Type, string],
    ...policies: readonly Policy[]
  ): Lane => ({
    description: { id, title, method, path, more: SAMPLES[id].more, policies: policies.map(parametersOf) },
    controller,
    handler,
  });
  return [
    lane(['rides', 'Ride request'], ['POST', '/api/rides/request'], [RidesController, 'request'], RIDES, ...matching),
    lane(
      ['fares', 'Fare estimate'],
      ['POST', '/api/fares/estimate'],
      [FaresController, 'estimate'],
      FARES,
      ...matching,
    ),
    lane(
      ['nearby', 'Nearby drivers'],
      ['GET', '/api/drivers/nearby'],
      [DriversController, 'nearby'],
      NEARBY,
      ...matching,
    ),
    lane(
      ['location', 'Driver locations'],
      ['POST', '/api/drivers/location'],
      [DriversController, 'report'],
      LOCATION_INDEX,
      REPORTER,
    ),
    lane(['history', 'Trip history'], ['GET', '/api/trips/history'], [TripsController, 'history'], HISTORY),
    lane(['stats', 'Zone statistics'], ['GET', '/api/admin/zones/stats'], [ZonesController, 'stats'], ZONE_STATS),
    lane(
      ['surge', 'Surge pricing'],
      ['PUT', '/api/admin/zones/:zone/surge'],
      [ZonesController, 'setSurge'],
      ZONE_SURGE,
    ),
  ];
}

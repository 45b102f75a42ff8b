import type { ConfigService } from '@nestjs/config';
import type { Policy } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
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
} from '../limits/policies.js';
import type { Route, Routes } from '../limits/routes.js';
import type { LaneDescription } from './live.js';
import { parametersOf } from './policy-state.js';
import { type LaneId, SAMPLES } from './trial.js';

/** A limited route on the page. */
export interface Lane {
  readonly description: LaneDescription;
  readonly route: Route;
  /** Whether one of its policies tells plans apart. */
  readonly hasPlans: boolean;
}

/**
 * Every limited route of the application: first those of riders, then of drivers, then of operators.
 *
 * @throws Error for a route that the application does not have
 */
export function lanesOf(config: ConfigService<Configuration, true>, routes: Routes): Lane[] {
  // With `RATE_LIMIT=riders` the policy of matching is never asked.
  const ridersOnly = config.get('rateLimit', { infer: true }) === 'riders';
  const matching = ridersOnly ? [] : [{ ...matchingLimit(config), name: MATCHING_LIMIT }];
  const laneIn =
    (row?: string) =>
    (id: LaneId, title: string, method: string, path: string, ...policies: readonly Policy[]): Lane => ({
      description: {
        id,
        title,
        row: row ?? title,
        method,
        path,
        more: SAMPLES[id].more,
        policies: policies.map(parametersOf),
      },
      route: routes.find(method, path),
      hasPlans: policies.some(({ plans }) => plans !== undefined),
    });
  const ofRiders = laneIn('Requests of riders');
  const lane = laneIn();
  return [
    ofRiders('rides', 'Ride request', 'POST', '/api/rides/request', RIDES, ...matching),
    ofRiders('fares', 'Fare estimate', 'POST', '/api/fares/estimate', FARES, ...matching),
    ofRiders('nearby', 'Nearby drivers', 'GET', '/api/drivers/nearby', NEARBY, ...matching),
    lane('location', 'Driver locations', 'POST', '/api/drivers/location', LOCATION_INDEX, REPORTER),
    lane('history', 'Trip history', 'GET', '/api/trips/history', HISTORY),
    lane('stats', 'Zone statistics', 'GET', '/api/admin/zones/stats', ZONE_STATS),
    lane('surge', 'Surge pricing', 'PUT', '/api/admin/zones/:zone/surge', ZONE_SURGE),
  ];
}

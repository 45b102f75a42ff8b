import type { LaneDescription } from './live.js';
import { parametersOf } from './policy-state.js';
import type { RoomApplication, RoomRoute } from './room-application.js';

/** A limited route on the page. */
export interface Lane {
  readonly description: LaneDescription;
  readonly route: RoomRoute;
  /** Whether one of its policies tells plans apart. */
  readonly hasPlans: boolean;
}

/**
 * The lanes of the page.
 *
 * @throws Error for a route that the application does not have
 */
export function lanesOf({ lanes, routes }: Pick<RoomApplication, 'lanes' | 'routes'>): Lane[] {
  return lanes.map(({ id, title, row = title, method, path, policies, sample }) => ({
    description: { id, title, row, method, path, more: sample.more, policies: policies.map(parametersOf) },
    route: routes.find(method, path),
    hasPlans: policies.some(({ plans }) => plans !== undefined),
  }));
}

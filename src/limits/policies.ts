import type { ConfigService } from '@nestjs/config';
import type { Policy, TokenBucketPolicy } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { batchCost } from '../drivers/position-batch.js';

// Every policy of the application. docs/demo.md quotes this file.

const MINUTE_MS = 60_000;

/** Riders: a short burst is a person, a high average is a script. The numbers are those of the plan `free`. */
export const RIDES = {
  name: 'rider',
  algorithm: 'token-bucket',
  capacity: 20,
  refill: 10,
  plans: { plus: { capacity: 40, refill: 20 } },
} as const satisfies Policy;

export const FARES = {
  name: 'rider',
  algorithm: 'token-bucket',
  capacity: 20,
  refill: 10,
  plans: { plus: { capacity: 40, refill: 20 } },
} as const satisfies Policy;

/** A map that a rider drags sends many requests. */
export const NEARBY = {
  name: 'rider',
  algorithm: 'token-bucket',
  capacity: 30,
  refill: 15,
  plans: { plus: { capacity: 60, refill: 30 } },
} as const satisfies Policy;

/** One client gets at most half of the queue of `LOCATION_INDEX`. Clients without a name are counted by their address. */
export const REPORTER = {
  name: 'reporter',
  algorithm: 'token-bucket',
  capacity: 2500,
  refill: 1500,
  cost: batchCost,
} as const satisfies Policy;

/** Protects the index of drivers: the reports of all clients wait in one queue. */
export const LOCATION_INDEX = {
  name: 'location-index',
  algorithm: 'leaky-bucket',
  capacity: 5000,
  drain: 3000,
  by: 'global',
  cost: batchCost,
} as const satisfies Policy;

export const HISTORY = { algorithm: 'sliding-window-counter', limit: 30, window: MINUTE_MS } as const satisfies Policy;

export const ZONE_STATS = { algorithm: 'fixed-window', limit: 60, window: MINUTE_MS } as const satisfies Policy;

/** Surge changes are few and critical, so an exact log is worth its memory. */
export const ZONE_SURGE = { algorithm: 'sliding-window-log', limit: 5, window: MINUTE_MS } as const satisfies Policy;

/** People change plans by hand. */
export const RIDER_PLAN = { algorithm: 'sliding-window-log', limit: 30, window: MINUTE_MS } as const satisfies Policy;

/** The name of the policy that several routes share: those that matching has to work for. */
export const MATCHING_LIMIT = 'matching';

/**
 * Protects the matching service: one bucket for all riders, sized by the environment.
 *
 * The riders' own limits do not protect it, since a thousand riders within their limits are still too many. Both limits are
 * one atomic step, so a request that one of them rejects is not charged to the other.
 */
export function matchingLimit(config: ConfigService<Configuration, true>): TokenBucketPolicy {
  const { burst, perSecond } = config.get('matchingLimit', { infer: true });
  const ridersOnly = config.get('rateLimit', { infer: true }) === 'riders';
  return {
    algorithm: 'token-bucket',
    capacity: burst,
    refill: perSecond,
    by: 'global',
    scope: 'app',
    ...(ridersOnly && { skipIf: () => true }),
  };
}

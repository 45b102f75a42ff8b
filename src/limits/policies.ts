import type { Policy } from 'nestjs-floodgate';
import { batchCost } from '../drivers/position-batch.js';

/** The limits of the application's routes, but for the one that protects matching, which the environment sizes. */

const MINUTE_MS = 60_000;

export const RIDES = { name: 'rider', algorithm: 'token-bucket', capacity: 20, refill: 10 } as const satisfies Policy;

export const FARES = { name: 'rider', algorithm: 'token-bucket', capacity: 20, refill: 10 } as const satisfies Policy;

export const NEARBY = { name: 'rider', algorithm: 'token-bucket', capacity: 30, refill: 15 } as const satisfies Policy;

/** A bucket for each client leaves half of the queue to the others; who says nothing about himself is the client of his address. */
export const REPORTER = {
  name: 'reporter',
  algorithm: 'token-bucket',
  capacity: 2500,
  refill: 1500,
  cost: batchCost,
} as const satisfies Policy;

/** Everybody's reports go through one leaky bucket: what has to be protected is the index behind it. */
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

/** Few, critical, and worth an exact log: a surge changes what everybody in a zone pays. */
export const ZONE_SURGE = { algorithm: 'sliding-window-log', limit: 5, window: MINUTE_MS } as const satisfies Policy;

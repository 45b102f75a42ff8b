import type { RateLimitMode } from '../config/configuration.js';

/** The same surge three times, differently limited. */
export interface SurgeCase {
  readonly name: 'before' | 'riders' | 'after';
  readonly title: string;
  readonly rateLimit: RateLimitMode;
}

export const CASES: readonly SurgeCase[] = [
  { name: 'before', title: 'Without a limiter', rateLimit: 'off' },
  { name: 'riders', title: "Each rider's limits alone", rateLimit: 'riders' },
  { name: 'after', title: "Each rider's limits, and one for matching", rateLimit: 'on' },
];

export type CaseName = SurgeCase['name'];

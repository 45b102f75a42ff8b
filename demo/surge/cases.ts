/** One of the three runs of the same surge. They differ in the application's `RATE_LIMIT` alone. */
export interface SurgeCase {
  readonly name: 'before' | 'riders' | 'after';
  readonly title: string;
  readonly rateLimit: 'off' | 'riders' | 'on';
}

export const CASES: readonly SurgeCase[] = [
  { name: 'before', title: 'Without a limiter', rateLimit: 'off' },
  { name: 'riders', title: "Each rider's limits alone", rateLimit: 'riders' },
  { name: 'after', title: "Each rider's limits, and one for matching", rateLimit: 'on' },
];

export type CaseName = SurgeCase['name'];

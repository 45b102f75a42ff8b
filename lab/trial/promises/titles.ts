/** All that a limiter may promise and that is tried, in the order of the table. */
export const TITLES = {
  limit: 'Never above the limit, 64 requests at once',
  shared: 'Nor over four processes on one Redis',
  interval: 'In any interval as long as the window',
  cost: 'Costs above one count in full',
  rejected: 'A rejected request costs nothing',
  'retry-after': 'Retry-after: rejected before, allowed at it',
  several: 'Several limits: all are charged, or none',
  'huge-cost': 'A huge cost is rejected, and costs nothing',
  'zero-cost': 'A cost of 0 is answered, and costs nothing',
  clock: 'One process an hour ahead: the same limit',
  expiry: 'The keys of clients expire',
  'script-flush': 'SCRIPT FLUSH changes nothing',
  restart: 'Redis restarts: verdicts again within 5 s',
  'read-only': 'Redis becomes a replica: answers, then verdicts',
  hung: 'Redis hangs: an answer within a second',
} as const;

export type PromiseName = keyof typeof TITLES;

export const PROMISE_NAMES = Object.keys(TITLES) as readonly PromiseName[];

export function isPromiseName(name: string): name is PromiseName {
  return Object.hasOwn(TITLES, name);
}

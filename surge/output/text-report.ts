import { cityOf } from '../city.js';
import type { CaseName } from '../cases.js';
import type { CaseFigures, RouteFigures } from '../figures/figures.js';
import type { SurgeOptions } from '../options.js';
import { DRIVERS, rushOf, TRIP_SECONDS } from '../run-case.js';
import { REPORTED } from './reported.js';
import { change, figure, percent, textTable } from './text-table.js';

export type Results = Readonly<Record<CaseName, CaseFigures>>;

const PATHS = {
  rides: '/api/rides/request',
  fares: '/api/fares/estimate',
  nearby: '/api/drivers/nearby',
  all: 'all',
} as const;

/** The answers of a case, in milliseconds. */
export function caseTable(figures: CaseFigures): string {
  const head = ['ms', 'requests', 'mean', 'median', 'min', 'max', 'p95', 'p99', 'per second', 'failed'];
  return textTable(head, figures.routes.flatMap(routeRows));
}

function routeRows({ route, times, rejected, perSecond, rejectedPerSecond, failureRate }: RouteFigures): string[][] {
  const row = (
    name: string,
    { count, mean, median, min, max, p95, p99 }: RouteFigures['times'],
    rate: number,
  ): string[] => [name, ...[count, mean, median, min, max, p95, p99, rate].map(figure)];
  const first = [...row(PATHS[route], times, perSecond), percent(failureRate)];
  return rejected.count === 0 ? [first] : [first, row('  of which 429', rejected, rejectedPerSecond)];
}

/** The three cases side by side, and the reported figures. */
export function comparison({ before, riders, after }: Results): string {
  const all = [before, riders, after];
  const head = ['', 'no limiter', 'riders alone', 'riders + matching', 'change', 'reported'];
  const both = (b: string, a: string, changed: string): string => `${b} -> ${a} (${changed})`;
  const rows = [
    [
      'p99 of requests not rejected, ms',
      ...all.map(({ p99Ms }) => figure(p99Ms)),
      change(before.p99Ms, after.p99Ms),
      both(figure(REPORTED.p99Ms.before), figure(REPORTED.p99Ms.after), '-98.5 %'),
    ],
    [
      'failures other than 429',
      ...all.map(({ failureRate }) => percent(failureRate)),
      change(before.failureRate, after.failureRate),
      both(percent(REPORTED.failureRate.before), percent(REPORTED.failureRate.after), '-99.5 %'),
    ],
    ['mean of a 429, ms', ...all.map(({ mean429Ms }) => figure(mean429Ms)), '', `${REPORTED.mean429Ms.after}`],
    [
      'requests/s that reach matching',
      ...all.map(({ matchingRps }) => figure(matchingRps)),
      change(before.matchingRps, after.matchingRps),
      both(figure(REPORTED.matchingRps.before), figure(REPORTED.matchingRps.after), '-72.3 %'),
    ],
    [
      'riders matched',
      ...all.map(({ ridersMatched }) => figure(ridersMatched)),
      change(before.ridersMatched, after.ridersMatched),
    ],
    ['rides with a driver', ...all.map(({ rides }) => figure(rides)), change(before.rides, after.rides)],
    [
      'wait for matching, p99, ms',
      ...all.map(({ queueWaitMs }) => figure(queueWaitMs.p99)),
      change(before.queueWaitMs.p99, after.queueWaitMs.p99),
      `> ${figure(REPORTED.queueWaitMs.before)} -> < ${figure(REPORTED.queueWaitMs.after)}`,
    ],
    [
      'utilisation of matching',
      ...all.map(({ utilisation }) => percent(utilisation)),
      '',
      `${percent(REPORTED.utilisation.before)} -> ${percent(REPORTED.utilisation.after)}`,
    ],
    ['a decision: median, ms', ...all.map(({ decisionMs }) => figure(decisionMs.median))],
    ['  p99, ms', ...all.map(({ decisionMs }) => figure(decisionMs.p99)), '', 'below 1'],
    ['  of a bare PING, p99, ms', ...all.map(({ pingMs }) => figure(pingMs.p99))],
    ['  decided without Redis', ...all.map(({ decidedLocally }) => figure(decidedLocally))],
    ['Redis, of one core', ...all.map(({ redisCpu }) => percent(redisCpu)), '', 'below 70 %'],
    ["429s by the riders' own limits", ...all.map(({ rejectedByRider }) => figure(rejectedByRider))],
    ['429s by the limit for matching', ...all.map(({ rejectedByMatching }) => figure(rejectedByMatching))],
  ];
  return textTable(head, rows);
}

/** Other possible bottlenecks. If one of them is busy, the surge does not measure the limits. */
export function measurement({ before, riders, after }: Results): string {
  const all = [before, riders, after];
  const head = ['share of one core, unless noted', 'no limiter', 'riders alone', 'riders + matching'];
  const rows = [
    ['load generator', ...all.map(({ generator }) => percent(generator.cpu))],
    ['  its event loop busy', ...all.map(({ generator }) => percent(generator.eventLoop))],
    ['  requests late by, p99, ms', ...all.map(({ generator }) => figure(generator.lateP99Ms))],
    ['application, all processes', ...all.map(({ podsCpu }) => percent(podsCpu))],
    ['matching service', ...all.map(({ matchingCpu }) => percent(matchingCpu))],
    ['other processes of the machine', ...all.map(({ othersCpu }) => percent(othersCpu))],
    ['rides without a driver', ...all.map(({ withoutDriver }) => figure(withoutDriver))],
  ];
  return textTable(head, rows);
}

/** The size of the surge, and how it differs from the reported one. */
export function scaleOf({
  pods,
  riders,
  seconds,
  demand,
  queue,
  patienceMs,
  seed,
  store,
  scale,
}: SurgeOptions): string {
  const { workers, serviceMs, limit } = cityOf(scale);
  const city = scale === 1 ? 'in full' : `divided by ${scale}`;
  return `${figure(riders)} riders for ${seconds} s, ${pods} processes on ${store === 'redis' ? 'one Redis' : 'in-process stores'}, seed ${seed}.

Riders: a rider opens the app, sends 1 to 3 requests with pauses of 0.1 to 0.3 s, and closes the app. If every answer comes at once,
all riders send ${figure(demand)} requests/s (reported: 379). ${figure(rushOf(demand))} further riders arrive in the first two seconds. When answers take long, riders pile up.
(Riders who never paused would send ${figure(riders * 5)} requests/s, more than two cores can send and answer.)
Matching, ${city}: ${workers} workers of ${serviceMs} ms hold ${figure((1000 * workers) / serviceMs)} requests/s. Its queue has ${figure(queue)} places, its patience is ${figure(patienceMs / 1000)} s. Its limit: ${figure(limit.refill)}/s, burst ${figure(limit.capacity)}.
Drivers: ${figure(DRIVERS)} with trips of ${TRIP_SECONDS} s, enough for every match.`;
}

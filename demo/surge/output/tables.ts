import { CASES } from '../cases.js';
import type { CaseFigures, RouteFigures } from '../figures/figures.js';
import { REPORTED } from './reported.js';
import { change, figure, percent, type Table } from './text-table.js';
import type { Results } from './verdict.js';

const PATHS = {
  rides: '/api/rides/request',
  fares: '/api/fares/estimate',
  nearby: '/api/drivers/nearby',
  all: 'all',
} as const;

const COLUMNS = ['no limiter', 'riders alone', 'riders + matching'];

/** All tables of a surge, the most telling first. */
export function tablesOf(results: Results): Table[] {
  return [
    comparison(results),
    reported(results),
    ...CASES.map(({ name, title }) => caseTable(title, results[name])),
    measurement(results),
  ];
}

/** The answers of a case, in milliseconds. */
function caseTable(heading: string, { routes }: CaseFigures): Table {
  const head = ['ms', 'requests', 'mean', 'median', 'min', 'max', 'p95', 'p99', 'per second', 'failed'];
  return { heading, head, rows: routes.flatMap(routeRows) };
}

function routeRows({ route, times, rejected, perSecond, rejectedPerSecond, failureRate }: RouteFigures): string[][] {
  const row = (
    name: string,
    { count, mean, median, min, max, p95, p99 }: RouteFigures['times'],
    rate: number,
  ): string[] => [name, ...[count, mean, median, min, max, p95, p99, rate].map(figure)];
  const first = [...row(PATHS[route], times, perSecond), percent(failureRate)];
  return rejected.count === 0 ? [first] : [first, row('  refused (429)', rejected, rejectedPerSecond)];
}

/** The three cases side by side. */
export function comparison(results: Results): Table {
  const { before, after } = results;
  const row = (name: string, text: (figures: CaseFigures) => string, changed?: (figures: CaseFigures) => number) => [
    name,
    ...inOrder(results).map(text),
    changed === undefined ? '' : change(changed(before), changed(after)),
  ];
  /** A row of plain numbers with their change. */
  const numbers = (name: string, of: (figures: CaseFigures) => number) => row(name, (one) => figure(of(one)), of);
  return {
    heading: 'Side by side',
    head: ['', ...COLUMNS, 'change'],
    rows: [
      row(
        'failed',
        ({ failureRate }) => percent(failureRate),
        ({ failureRate }) => failureRate,
      ),
      row('retries, of all requests', ({ retryRate }) => percent(retryRate)),
      row('refused (429)', ({ rejectedRate }) => percent(rejectedRate)),
      row('served', ({ servedRate }) => percent(servedRate)),
      row('  of rides', (one) => percent(servedRateOf(one, 'rides'))),
      row('  of estimates', (one) => percent(servedRateOf(one, 'fares'))),
      numbers('p99 of requests not refused, ms', ({ p99Ms }) => p99Ms),
      row('mean until a failure, ms', ({ meanFailureMs }) => figure(meanFailureMs)),
      row('mean until a 429, ms', ({ mean429Ms }) => figure(mean429Ms)),
      numbers('requests/s that reach matching', ({ matchingRps }) => matchingRps),
      numbers('people who wanted a ride', ({ people }) => people.wanted),
      numbers('  got one', ({ people }) => people.matched),
      row('    after, mean, ms', ({ people }) => figure(people.matchedAfterMs)),
      numbers('  gave up', ({ people }) => people.gaveUp),
      row('    after, mean, ms', ({ people }) => figure(people.gaveUpAfterMs)),
      row('  were still trying', ({ people }) => figure(people.trying)),
      numbers('rides with a driver', ({ rides }) => rides),
      numbers('wait for matching, p99, ms', ({ queueWaitMs }) => queueWaitMs.p99),
      row('utilisation of matching', ({ utilisation }) => percent(utilisation)),
      row('a decision: median, ms', ({ decisionMs }) => figure(decisionMs.median)),
      row('  p99, ms', ({ decisionMs }) => figure(decisionMs.p99)),
      row('  of a bare PING, p99, ms', ({ pingMs }) => figure(pingMs.p99)),
      row('  decided without Redis', ({ decidedLocally }) => figure(decidedLocally)),
      row('Redis, of one core', ({ redisCpu }) => percent(redisCpu)),
      row("429s by the riders' own limits", ({ rejectedByRider }) => figure(rejectedByRider)),
      row('429s by the limit for matching', ({ rejectedByMatching }) => figure(rejectedByMatching)),
    ],
  };
}

/** The surge on another system, for comparison. */
function reported({ before, after }: Results): Table {
  const row = (name: string, text: (value: number) => string, here: readonly number[], there: readonly number[]) => [
    name,
    ...here.map(text),
    ...there.map(text),
    there.length === 2 ? change(there[0]!, there[1]!) : '',
  ];
  const { p99Ms, failureRate, mean429Ms, matchingRps, queueWaitMs, utilisation } = REPORTED;
  return {
    heading: 'Beside the reported surge (12 pods, 2,000 riders, 3 minutes)',
    head: ['', 'before', 'after', 'reported: before', 'after', 'change'],
    rows: [
      row('p99 of requests not refused, ms', figure, [before.p99Ms, after.p99Ms], [p99Ms.before, p99Ms.after]),
      row('failed', percent, [before.failureRate, after.failureRate], [failureRate.before, failureRate.after]),
      row('mean until a 429, ms', figure, [NaN, after.mean429Ms], [mean429Ms.before, mean429Ms.after]),
      row(
        'requests/s that reach matching',
        figure,
        [before.matchingRps, after.matchingRps],
        [matchingRps.before, matchingRps.after],
      ),
      [
        'wait for matching, p99, ms',
        figure(before.queueWaitMs.p99),
        figure(after.queueWaitMs.p99),
        `> ${figure(queueWaitMs.before)}`,
        `< ${figure(queueWaitMs.after)}`,
      ],
      row(
        'utilisation of matching',
        percent,
        [before.utilisation, after.utilisation],
        [utilisation.before, utilisation.after],
      ),
    ],
  };
}

/** Other possible bottlenecks. If one of them is busy, the surge does not measure the limits. */
export function measurement(results: Results): Table {
  const row = (name: string, text: (figures: CaseFigures) => string): string[] => [name, ...inOrder(results).map(text)];
  return {
    heading: 'Other bottlenecks',
    head: ['share of one core, unless noted', ...COLUMNS],
    rows: [
      row('load generator', ({ generator }) => percent(generator.cpu)),
      row('  its event loop busy', ({ generator }) => percent(generator.eventLoop)),
      row('  requests late by, p99, ms', ({ generator }) => figure(generator.lateP99Ms)),
      row('application, all processes', ({ podsCpu }) => percent(podsCpu)),
      row('matching service', ({ matchingCpu }) => percent(matchingCpu)),
      row('other processes of the machine', ({ othersCpu }) => percent(othersCpu)),
      row('rides without a driver', ({ withoutDriver }) => figure(withoutDriver)),
    ],
  };
}

/** The share of a route's requests that were served. */
export function servedRateOf({ routes }: CaseFigures, route: RouteFigures['route']): number {
  return routes.find((one) => one.route === route)?.servedRate ?? NaN;
}

function inOrder(results: Results): CaseFigures[] {
  return CASES.map(({ name }) => results[name]);
}

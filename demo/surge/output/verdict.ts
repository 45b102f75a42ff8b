import type { CaseName } from '../cases.js';
import { type Busyness, busynessOf, TRUSTED } from '../figures/busyness.js';
import { RIDER_LIMITS } from '../figures/checks.js';
import type { CaseFigures } from '../figures/figures.js';
import type { SurgeOptions } from '../options.js';
import { duration, figure, percent } from './text-table.js';

export type Results = Readonly<Record<CaseName, CaseFigures>>;

/** A figure without limits and with all of them. */
export interface BigNumber {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly note: string;
  /** Whether riders can live with the figure. */
  readonly isGood: { readonly before: boolean; readonly after: boolean };
}

/** A promise of the limits. */
export interface Check {
  readonly text: string;
  readonly holds: boolean;
}

/** What a surge has shown, for a reader who reads nothing else. */
export interface Verdict {
  /** A few words. */
  readonly title: string;
  /** What became of the people, without limits and with them. */
  readonly people: readonly [string, string];
  readonly numbers: readonly [BigNumber, BigNumber, BigNumber];
  readonly sentence: string;
  readonly checks: readonly Check[];
  /** Whether every check holds. */
  readonly hold: boolean;
  /** Empty: the machine was quiet enough to trust the figures. Otherwise the figures are no verdict. */
  readonly busy: readonly Busyness[];
  /** What the reader has to know before they trust the figures. */
  readonly warnings: readonly string[];
}

/** From here on a figure is red. */
const BAD = { failureRate: 0.01, p99Ms: 1000, noMs: 100 } as const;

export function verdictOf(options: SurgeOptions, results: Results, cores: number): Verdict {
  const checks = checksOf(options, results);
  const busy = busynessOf(results, cores);
  const hold = checks.every(({ holds }) => holds);
  return {
    title: titleOf(results, hold, busy.length > 0),
    people: [peopleText('Without limits', results.before), peopleText('With limits', results.after)],
    numbers: numbersOf(results),
    sentence: sentenceOf(results),
    checks,
    hold,
    busy,
    warnings: [...(busy.length > 0 ? [warningOf(busy, cores)] : []), ...storeWarnings(options, results)],
  };
}

function titleOf({ after }: Results, hold: boolean, isBusy: boolean): string {
  if (!hold) return 'The limits were broken';
  if (isBusy) return 'This machine was too busy to measure the limits';
  return after.failureRate < BAD.failureRate && after.p99Ms < BAD.p99Ms
    ? 'The limits kept the service standing'
    : 'The limits held, but riders did not get their answers in time';
}

function numbersOf({ before, after }: Results): Verdict['numbers'] {
  const [noBefore, noAfter] = [before.meanFailureMs, after.mean429Ms];
  return [
    {
      label: 'Failed',
      before: percent(before.failureRate),
      after: percent(after.failureRate),
      note: 'of all requests',
      isGood: { before: before.failureRate < BAD.failureRate, after: after.failureRate < BAD.failureRate },
    },
    {
      label: '99 % answered within',
      before: duration(before.p99Ms),
      after: duration(after.p99Ms),
      note: 'of requests not refused',
      isGood: { before: before.p99Ms < BAD.p99Ms, after: after.p99Ms < BAD.p99Ms },
    },
    {
      label: 'Time to be refused',
      before: duration(noBefore),
      after: duration(noAfter),
      note: 'failure before, 429 after',
      isGood: { before: !(noBefore >= BAD.noMs), after: !(noAfter >= BAD.noMs) },
    },
  ];
}

/** Some sentences for a reader who has never heard of rate limiting. */
function sentenceOf({ before, after }: Results): string {
  const didFail = before.failureRate >= BAD.failureRate;
  if (!didFail && before.p99Ms < BAD.p99Ms) {
    return 'Matching could serve this surge without limits, too. A larger --demand shows what limits are for.';
  }
  const without = didFail
    ? `${requests(before.failureRate)} failed, after ${duration(before.meanFailureMs)} on average`
    : `riders waited up to ${duration(before.p99Ms)}`;
  const refused =
    after.rejectedRate === 0
      ? 'no request had to be refused'
      : `${requests(after.rejectedRate)} were told in ${duration(after.mean429Ms)} to come back later`;
  return (
    `Without limits, ${without}. With limits, ${requests(after.failureRate)} failed: ${refused}, ` +
    `and 99 of 100 others had their answer in ${duration(after.p99Ms)}.`
  );
}

/** What became of the people in one case. */
function peopleText(when: string, { people }: CaseFigures): string {
  const { wanted, matched, matchedAfterMs, gaveUp, gaveUpAfterMs, trying } = people;
  const after = (count: number, ms: number): string => (count === 0 ? '' : ` after ${duration(ms)} on average`);
  return (
    `${when}, ${figure(wanted)} people wanted a ride: ${figure(matched)} got one${after(matched, matchedAfterMs)}, ` +
    `${figure(gaveUp)} gave up${after(gaveUp, gaveUpAfterMs)}, and ${figure(trying)} were still trying.`
  );
}

/** A share of the requests as a person says it. */
function requests(share: number): string {
  if (share === 0) return 'no request';
  if (share === 1) return 'all requests';
  const tenths = Math.round(10 * share);
  return tenths === 0 || tenths === 10 ? `${percent(share)} of the requests` : `${tenths} in 10 requests`;
}

/**
 * Checks the promises of the limits.
 *
 * In-process stores keep the promises for one process only. Then a rider gets a limit from each process, which is no failure.
 * A process that decides because Redis is late may admit requests on top.
 */
function checksOf(options: SurgeOptions, results: Results): Check[] {
  const doubles = sum(results, ({ doubleMatched }) => doubleMatched);
  const over = sum(results, ({ overAdmitted }) => overAdmitted);
  const allowed = options.store === 'memory' ? Infinity : sum(results, ({ decidedLocally }) => decidedLocally);
  const holds = over <= allowed;
  return [
    { text: `Drivers matched to two riders: ${doubles}.`, holds: doubles === 0 },
    {
      text: `Requests admitted above capacity + refill x time, over all processes: ${figure(over)}.`,
      holds,
    },
    { text: burstText(options, results.riders.burst, holds), holds: holds || results.riders.burst.over === 0 },
  ];
}

/**
 * Shows how capacity and refill add up to the requests that were admitted.
 *
 * @param isExplained whether the requests beyond the limit are those that processes decided because Redis was late
 */
export function burstText(
  { store, pods }: Pick<SurgeOptions, 'store' | 'pods'>,
  { sent, admitted, refilled, over, tookMs }: CaseFigures['burst'],
  isExplained: boolean,
): string {
  const { capacity, refill } = RIDER_LIMITS.rides;
  const start = `One rider sent ${sent} requests at once to ${pods} processes: `;
  if (store === 'memory' && over > 0) {
    return `${start}${admitted} admitted, since each process gives the rider a bucket of ${capacity}.`;
  }
  const may = `${capacity} + ${refilled} refilled in ${duration(tookMs)}`;
  if (over > 0 && isExplained) return `${start}${may} + ${over} while Redis was late = ${admitted} admitted.`;
  if (over > 0) {
    return `${start}${admitted} admitted, ${over} too many. The limit allows ${may} = ${capacity + refilled}.`;
  }
  if (refilled > 0) return `${start}${may} = ${admitted} admitted (the limit is ${capacity}, then ${refill}/s).`;
  return `${start}${admitted} admitted (the limit is ${capacity}, then ${refill}/s).`;
}

function storeWarnings({ store, pods }: SurgeOptions, results: Results): string[] {
  if (store === 'memory') {
    return [`Each process counts for itself (--store memory): together they admit up to ${pods} times every limit.`];
  }
  const local = sum(results, ({ decidedLocally }) => decidedLocally);
  if (local === 0) return [];
  const times = local === 1 ? 'one decision' : `${figure(local)} decisions`;
  return [`Redis was too late for ${times}: the processes decided, each with its share of the limits.`];
}

/** Says by which measures the machine was too busy, at its worst. */
function warningOf(busy: readonly Busyness[], cores: number): string {
  const worst = (of: (one: Busyness) => number): number => Math.max(...busy.map(of));
  const [late, loop, others] = [
    worst(({ lateP99Ms }) => lateP99Ms),
    worst(({ eventLoop }) => eventLoop),
    worst(({ othersCpu }) => othersCpu),
  ];
  const most = TRUSTED.othersCpu * cores;
  const reasons = [
    late > TRUSTED.lateP99Ms && `requests were sent ${duration(late)} late (at most ${TRUSTED.lateP99Ms} ms)`,
    loop > TRUSTED.eventLoop &&
      `the load generator was busy ${percent(loop)} of the time (at most ${percent(TRUSTED.eventLoop)})`,
    others > most && `other processes used ${figure(others)} of ${cores} cores (at most ${figure(most)})`,
  ].filter((reason) => reason !== false);
  return `The machine was too busy to trust this run: ${reasons.join('; ')}.`;
}

function sum(results: Results, of: (figures: CaseFigures) => number): number {
  return Object.values<CaseFigures>(results).reduce((total, each) => total + of(each), 0);
}

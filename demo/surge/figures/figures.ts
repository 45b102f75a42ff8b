import type { Histogram } from 'hdr-histogram-js';
import { allTimes } from '../processes/times-histogram.js';
import { type Route, ROUTES } from '../../riders/index.js';
import { type CaseRecord, TRIP_SECONDS } from '../run-case.js';
import { burstOf, type BurstFigures } from './burst.js';
import { doubleMatched, excess, isAdmitted, overAdmitted } from './checks.js';
import { outcomeOf } from './outcome.js';
import { type PeopleFigures, peopleOf } from './people.js';
import { type Times, timesOf } from './times.js';

/** The figures of one route, or of all. */
export interface RouteFigures {
  readonly route: Route | 'all';
  /** The times of all requests. */
  readonly times: Times;
  /** The times of 429s. */
  readonly rejected: Times;
  /** Requests sent per second. */
  readonly perSecond: number;
  readonly rejectedPerSecond: number;
  /** The share of requests that failed with anything but a 429, 0 to 1. */
  readonly failureRate: number;
  /** The share of requests that were served, 0 to 1. */
  readonly servedRate: number;
}

export interface MedianAndP99 {
  readonly median: number;
  readonly p99: number;
}

/** The figures of a case. Rates are 0 to 1, CPU is a share of one core. */
export interface CaseFigures {
  readonly routes: readonly RouteFigures[];
  /** Milliseconds of requests that were not rejected. */
  readonly p99Ms: number;
  readonly failureRate: number;
  /** The share of requests that were served: a request that failed after the limiter let it pass is not. */
  readonly servedRate: number;
  /** The share of 429s. */
  readonly rejectedRate: number;
  /** Milliseconds; NaN if no request was rejected. */
  readonly mean429Ms: number;
  /** Milliseconds until a request failed; NaN if none did. */
  readonly meanFailureMs: number;
  /** Requests per second that reached the matching service. */
  readonly matchingRps: number;
  readonly people: PeopleFigures;
  /** The share of requests that repeat one that was not served. */
  readonly retryRate: number;
  /** Rides with a driver during the surge. Some riders ride more than once. */
  readonly rides: number;
  /** Rides without a driver. Above 0, drivers were the bottleneck. */
  readonly withoutDriver: number;
  /** Requests rejected by the rider's own limit. */
  readonly rejectedByRider: number;
  /** Requests rejected by the limit that all riders share. */
  readonly rejectedByMatching: number;
  readonly queueWaitMs: { readonly p99: number; readonly max: number };
  readonly utilisation: number;
  /** Milliseconds of a decision; NaN without one. */
  readonly decisionMs: MedianAndP99;
  /** Milliseconds of a PING to the same Redis at the same time; NaN without one. */
  readonly pingMs: MedianAndP99;
  readonly redisCpu: number | undefined;
  /** Decisions that a process made with its share of the limits, since Redis missed the deadline. */
  readonly decidedLocally: number;
  /** Requests admitted beyond the limits: must be 0. */
  readonly overAdmitted: number;
  /** Drivers that two riders got: must be 0. */
  readonly doubleMatched: number;
  /** The load generator. If it is too busy, the case does not measure the application. */
  readonly generator: { readonly cpu: number; readonly eventLoop: number; readonly lateP99Ms: number };
  readonly podsCpu: number;
  readonly matchingCpu: number;
  /** CPU of all other processes of the machine, roughly. It includes the surge's own main process. */
  readonly othersCpu: number;
  readonly burst: BurstFigures;
}

export function figuresOf(record: CaseRecord): CaseFigures {
  const { observations, burst, sentForMs, matching, surgeCase, city } = record;
  const seconds = sentForMs / 1000;
  const notRejected = observations.filter((each) => outcomeOf(each) !== 'rejected');
  const rejected = observations.filter((each) => outcomeOf(each) === 'rejected');
  const failed = notRejected.filter((each) => outcomeOf(each) === 'failed');
  const rides = observations.filter(({ driverId, answeredAt }) => driverId !== undefined && answeredAt <= sentForMs);
  const withoutDriver = observations.filter(
    ({ route, status, driverId }) => route === 'rides' && status === 200 && driverId === undefined,
  );
  const podsCpu = record.pods.reduce((sum, { cpu }) => sum + cpu, 0);
  const { last, lastAtMs, end } = matching;
  const wholeSeconds = Array.from({ length: Math.ceil(seconds) }, (_, second) => 1000 * second);
  const overall = surgeCase.rateLimit === 'on' ? excess(observations.filter(isAdmitted), city.limit, wholeSeconds) : 0;
  return {
    routes: [...ROUTES, 'all' as const].map((route) => routeFigures(record, route)),
    p99Ms: timesOf(notRejected.map(latency)).p99,
    failureRate: failed.length / observations.length,
    servedRate: (notRejected.length - failed.length) / observations.length,
    rejectedRate: rejected.length / observations.length,
    mean429Ms: timesOf(rejected.map(latency)).mean,
    meanFailureMs: timesOf(failed.map(latency)).mean,
    matchingRps: (1000 * last.total.asked) / lastAtMs,
    people: peopleOf(observations, sentForMs),
    retryRate: observations.filter(({ attempt }) => attempt > 1).length / observations.length,
    rides: rides.length,
    withoutDriver: withoutDriver.length,
    rejectedByRider: rejected.filter(({ policy }) => policy === 'rider').length,
    rejectedByMatching: rejected.filter(({ policy }) => policy === 'matching').length,
    queueWaitMs: end.total.waitMs,
    utilisation: last.total.busyMs / (last.workers * lastAtMs),
    decisionMs: medianAndP99(allTimes(record.pods.map((pod) => pod.decisions))),
    pingMs: medianAndP99(allTimes(record.pods.flatMap(({ pings }) => pings ?? []))),
    redisCpu: record.redisCpu,
    decidedLocally: record.pods.reduce((sum, pod) => sum + pod.decidedLocally, 0),
    overAdmitted: surgeCase.rateLimit === 'off' ? 0 : overAdmitted(observations) + overAdmitted(burst) + overall,
    doubleMatched: doubleMatched(observations, 1000 * TRIP_SECONDS),
    generator: {
      ...record.generator,
      lateP99Ms: timesOf(observations.map(({ dueAt, sentAt }) => sentAt - dueAt)).p99,
    },
    podsCpu,
    matchingCpu: matching.use.cpu,
    othersCpu: record.machineCpu - podsCpu - matching.use.cpu - record.generator.cpu - (record.redisCpu ?? 0),
    burst: burstOf(burst),
  };
}

function routeFigures({ observations, sentForMs }: CaseRecord, route: Route | 'all'): RouteFigures {
  const mine = route === 'all' ? observations : observations.filter((each) => each.route === route);
  const rejected = mine.filter((each) => outcomeOf(each) === 'rejected');
  const failed = mine.filter((each) => outcomeOf(each) === 'failed');
  const seconds = sentForMs / 1000;
  return {
    route,
    times: timesOf(mine.map(latency)),
    rejected: timesOf(rejected.map(latency)),
    perSecond: mine.length / seconds,
    rejectedPerSecond: rejected.length / seconds,
    failureRate: failed.length / mine.length,
    servedRate: (mine.length - rejected.length - failed.length) / mine.length,
  };
}

function medianAndP99(times: Histogram): MedianAndP99 {
  const at = (share: number): number => (times.totalCount === 0 ? NaN : times.getValueAtPercentile(share) / 1000);
  return { median: at(50), p99: at(99) };
}

function latency({ sentAt, answeredAt }: { sentAt: number; answeredAt: number }): number {
  return answeredAt - sentAt;
}

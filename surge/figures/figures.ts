import type { Histogram } from 'hdr-histogram-js';
import { allTimes } from '../processes/times-histogram.js';
import { type Route, ROUTES } from '../../src/riders/index.js';
import { type CaseRecord, TRIP_SECONDS } from '../run-case.js';
import { doubleMatched, excess, isAdmitted, overAdmitted } from './checks.js';
import { outcomeOf } from './outcome.js';
import { type Times, timesOf } from './times.js';

/** What a route's requests got. */
export interface RouteFigures {
  readonly route: Route | 'all';
  /** Of all its requests, and of its 429s alone. */
  readonly times: Times;
  readonly rejected: Times;
  /** Requests sent each second, and of these, rejected ones. */
  readonly perSecond: number;
  readonly rejectedPerSecond: number;
  /** The share that was neither answered nor rejected, 0 to 1. */
  readonly failureRate: number;
}

export interface MedianAndP99 {
  readonly median: number;
  readonly p99: number;
}

/** What came out of a case. Rates are 0 to 1, CPU is of one core. */
export interface CaseFigures {
  readonly routes: readonly RouteFigures[];
  /** Milliseconds, of requests that were not rejected. */
  readonly p99Ms: number;
  readonly failureRate: number;
  /** Milliseconds; NaN when nobody was rejected. */
  readonly mean429Ms: number;
  /** Requests a second that reached the matching service. */
  readonly matchingRps: number;
  /** Riders who got a driver while the surge lasted, and the drivers they got: some rode more than once. */
  readonly ridersMatched: number;
  readonly rides: number;
  /** Rides without a driver: drivers were what ran out. */
  readonly withoutDriver: number;
  /** Rejected by their own limit, and by the one that all share. */
  readonly rejectedByRider: number;
  readonly rejectedByMatching: number;
  readonly queueWaitMs: { readonly p99: number; readonly max: number };
  readonly utilisation: number;
  /** Milliseconds that a decision took, and a PING of the same Redis at the same time; NaN when there were none. */
  readonly decisionMs: MedianAndP99;
  readonly pingMs: MedianAndP99;
  readonly redisCpu: number | undefined;
  /** Decisions that Redis did not make within the deadline: a process made them, with its share of the limits. */
  readonly decidedLocally: number;
  /** Must be 0. */
  readonly overAdmitted: number;
  readonly doubleMatched: number;
  /** Whether the measurement is one: the load generator, and what all processes together used of the machine. */
  readonly generator: { readonly cpu: number; readonly eventLoop: number; readonly lateP99Ms: number };
  readonly podsCpu: number;
  readonly matchingCpu: number;
  /** What other processes of the machine used, roughly: of the surge's, the one that watches is part of it. */
  readonly othersCpu: number;
  /** Of the burst of one rider: how many were sent and let through, and how many could be. */
  readonly burst: { readonly sent: number; readonly admitted: number };
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
  const { last, end } = matching;
  const wholeSeconds = Array.from({ length: Math.ceil(seconds) }, (_, second) => 1000 * second);
  const overall = surgeCase.rateLimit === 'on' ? excess(observations.filter(isAdmitted), city.limit, wholeSeconds) : 0;
  return {
    routes: [...ROUTES, 'all' as const].map((route) => routeFigures(record, route)),
    p99Ms: timesOf(notRejected.map(latency)).p99,
    failureRate: failed.length / observations.length,
    mean429Ms: timesOf(rejected.map(latency)).mean,
    matchingRps: last.total.asked / seconds,
    ridersMatched: new Set(rides.map(({ rider }) => rider)).size,
    rides: rides.length,
    withoutDriver: withoutDriver.length,
    rejectedByRider: rejected.filter(({ policy }) => policy === 'rider').length,
    rejectedByMatching: rejected.filter(({ policy }) => policy === 'matching').length,
    queueWaitMs: end.total.waitMs,
    utilisation: last.total.busyMs / (last.workers * sentForMs),
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
    burst: { sent: burst.length, admitted: burst.filter(isAdmitted).length },
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
  };
}

function medianAndP99(times: Histogram): MedianAndP99 {
  const at = (share: number): number => (times.totalCount === 0 ? NaN : times.getValueAtPercentile(share) / 1000);
  return { median: at(50), p99: at(99) };
}

function latency({ sentAt, answeredAt }: { sentAt: number; answeredAt: number }): number {
  return answeredAt - sentAt;
}

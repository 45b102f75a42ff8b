import { setTimeout as delay } from 'node:timers/promises';
import type { MatchingStatistics } from '../matching/matching-statistics.js';
import { CASES, type SurgeCase } from './cases.js';
import { type City, cityOf } from './city.js';
import type { SurgeOptions } from './options.js';
import { machineBusyMs } from './processes/machine-meter.js';
import type { ProcessUse } from './processes/process-meter.js';
import type { Processes } from './processes/processes.js';
import { randomPort } from '../../tools/redis-server.js';
import type { ServiceUse } from './processes/service.main.js';
import type { CrowdSnapshot, Observation } from './riders/crowd.js';

/** Enough that drivers are not what runs out: 170 trips at most begin a second, and last so long. */
export const DRIVERS = 2000;
export const TRIP_SECONDS = 10;

/** One rider's requests at once to each process, when the crowd has gone. */
export const BURST_PER_POD = 30;

const PORT_ATTEMPTS = 20;
/** The first case finds nothing compiled. */
const WARM_UP_TIMES = { first: 50, later: 20 };
const SAMPLE_MS = 250;

/** Riders who open the app in the first two seconds, as the doors open: then twice as many come. */
export function rushOf(demand: number): number {
  return demand;
}

/** What happened in a case. */
export interface CaseRecord {
  readonly surgeCase: SurgeCase;
  readonly city: City;
  /** Every request of the crowd. */
  readonly observations: readonly Observation[];
  /** Those of one rider who asks as often as can be, when the crowd has gone; none without a limiter. */
  readonly burst: readonly Observation[];
  /** How long requests were sent. */
  readonly sentForMs: number;
  readonly matching: {
    /** When the last request was sent, and when all were answered. */
    readonly last: MatchingStatistics;
    readonly end: MatchingStatistics;
    readonly samples: readonly MatchingSample[];
    readonly use: ServiceUse;
  };
  readonly pods: readonly ServiceUse[];
  readonly generator: ProcessUse;
  /** Of one core, as `machineCpu`; undefined without Redis. */
  readonly redisCpu: number | undefined;
  /** Of all that ran on the machine, the surge's own processes and others. */
  readonly machineCpu: number;
}

export interface MatchingSample {
  readonly atMs: number;
  readonly statistics: MatchingStatistics;
}

/** Runs a case on services and a crowd of its own. */
export async function runCase(
  surgeCase: SurgeCase,
  options: SurgeOptions,
  { redis, matching, generator, pods }: Processes,
  onProgress: (snapshot: CrowdSnapshot) => void,
): Promise<CaseRecord> {
  const city = cityOf(options.scale);
  await redis?.clear();
  const matchingPort = await openWarmUpMatching(matching);
  const variables = podVariables(surgeCase, city, options, matchingPort, redis?.url);
  const ports = await Promise.all(pods.map((pod) => pod.call('open', { service: 'application', variables })));
  await generator.call(
    'open',
    ports.map((port) => `http://127.0.0.1:${port}`),
  );
  await generator.call('warmUp', surgeCase === CASES[0] ? WARM_UP_TIMES.first : WARM_UP_TIMES.later);
  await matching.call('close');
  await matching.call('open', { service: 'matching', variables: matchingVariables(city, options, matchingPort) });

  const services = [matching, ...pods];
  await Promise.all(services.map((service) => service.call('begin')));
  const before = { redis: await redis?.cpuSeconds(), machine: machineBusyMs() };
  const { riders, demand, seed } = options;
  await generator.call('start', { riders, demand, rush: rushOf(demand), seed });
  const since = performance.now();
  const samples = await watch(since + 1000 * options.seconds, async () => {
    const [snapshot, statistics] = await Promise.all([generator.call('snapshot'), matching.call('statistics')]);
    onProgress(snapshot);
    return { atMs: performance.now() - since, statistics };
  });
  const generatorUse = await generator.call('stop');
  const sentForMs = performance.now() - since;
  const last = await matching.call('statistics');
  const after = { redis: await redis?.cpuSeconds(), machine: machineBusyMs() };
  const [matchingUse, ...podUses] = await Promise.all(services.map((service) => service.call('end')));

  const observations = await generator.call('answers');
  const end = await matching.call('statistics');
  const count = BURST_PER_POD * options.pods;
  const burst = surgeCase.rateLimit === 'off' ? [] : await generator.call('burst', { route: 'rides', count });
  await generator.call('close');
  await Promise.all(pods.map((pod) => pod.call('close')));
  await matching.call('close');
  return {
    surgeCase,
    city,
    observations,
    burst,
    sentForMs,
    matching: { last, end, samples, use: matchingUse! },
    pods: podUses,
    generator: generatorUse,
    redisCpu: after.redis === undefined ? undefined : (1000 * (after.redis - before.redis!)) / sentForMs,
    machineCpu: (after.machine - before.machine) / sentForMs,
  };
}

/**
 * A matching that takes no time, until all is warm. The one that is measured comes to its port, so that this must be none that
 * the system gives away meanwhile.
 */
async function openWarmUpMatching(matching: Processes['matching']): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const variables = { MATCHING_PORT: `${randomPort()}`, MATCHING_WORKERS: '1000', MATCHING_SERVICE_MS: '0' };
    try {
      return await matching.call('open', { service: 'matching', variables });
    } catch (error) {
      if (!(error as Error).message.includes('EADDRINUSE') || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

function matchingVariables(
  { workers, serviceMs }: City,
  { queue, patienceMs }: SurgeOptions,
  port: number,
): Readonly<Record<string, string>> {
  return {
    MATCHING_PORT: `${port}`,
    MATCHING_WORKERS: `${workers}`,
    MATCHING_SERVICE_MS: `${serviceMs}`,
    MATCHING_QUEUE: `${queue}`,
    MATCHING_PATIENCE_MS: `${patienceMs}`,
    DRIVERS_SEEDED: `${DRIVERS}`,
    TRIP_SECONDS: `${TRIP_SECONDS}`,
  };
}

function podVariables(
  { rateLimit }: SurgeCase,
  { limit }: City,
  { pods, patienceMs }: SurgeOptions,
  matchingPort: number,
  redisUrl: string | undefined,
): Readonly<Record<string, string>> {
  return {
    PORT: '0',
    PODS: `${pods}`,
    RATE_LIMIT: rateLimit,
    MATCHING_LIMIT: limit.refill.toFixed(3),
    MATCHING_BURST: `${limit.capacity}`,
    MATCHING_URL: `http://127.0.0.1:${matchingPort}`,
    MATCHING_PATIENCE_MS: `${patienceMs}`,
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
  };
}

/** Looks again and again until an instant of `performance.now()`. */
async function watch<T>(until: number, look: () => Promise<T>): Promise<T[]> {
  const seen: T[] = [];
  for (;;) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) return seen;
    await delay(Math.min(SAMPLE_MS, leftMs));
    seen.push(await look());
  }
}

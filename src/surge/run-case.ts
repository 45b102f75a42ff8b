import { setTimeout as delay } from 'node:timers/promises';
import type { MatchingStatistics } from '../matching/matching-statistics.js';
import type { SurgeCase } from './cases.js';
import type { SurgeOptions } from './options.js';
import { Child } from './processes/child.js';
import type { GeneratorProcedures } from './processes/generator.main.js';
import type { ProcessUse } from './processes/process-meter.js';
import type { RedisMeter } from './processes/redis-meter.js';
import type { ServiceProcedures, ServiceUse } from './processes/service.main.js';
import type { CrowdSnapshot, Observation } from './riders/crowd.js';

/** Enough that drivers are not what runs out: 150 trips begin a second, and last so long. */
export const DRIVERS = 2500;
export const TRIP_SECONDS = 10;

/** One rider's requests at once to each process, when the crowd has gone. */
export const BURST_PER_POD = 30;

const WARM_UP_TIMES = 20;
const SAMPLE_MS = 250;

/** What happened in a case. */
export interface CaseRecord {
  readonly surgeCase: SurgeCase;
  /** Every request of the crowd. */
  readonly observations: readonly Observation[];
  /** Those of one rider who asks as often as can be, when the crowd has gone; none without a limiter. */
  readonly burst: readonly Observation[];
  /** How long requests were sent. */
  readonly sentForMs: number;
  readonly matching: {
    /** When the first request was sent, when the last one was, and when all were answered. */
    readonly first: MatchingStatistics;
    readonly last: MatchingStatistics;
    readonly end: MatchingStatistics;
    readonly samples: readonly MatchingSample[];
    readonly use: ServiceUse;
  };
  readonly pods: readonly ServiceUse[];
  readonly generator: ProcessUse;
  /** Of one core; undefined without Redis. */
  readonly redisCpu: number | undefined;
}

export interface MatchingSample {
  readonly atMs: number;
  readonly statistics: MatchingStatistics;
}

/** Runs a case with processes of its own, which are gone when it is over. */
export async function runCase(
  surgeCase: SurgeCase,
  options: SurgeOptions,
  redis: RedisMeter | undefined,
  onProgress: (snapshot: CrowdSnapshot) => void,
): Promise<CaseRecord> {
  const children: AsyncDisposable[] = [];
  // Those that start at the same time all end, also when one of them could not start.
  const own = async <T extends AsyncDisposable>(starting: Promise<T>): Promise<T> => {
    const child = await starting;
    children.push(child);
    return child;
  };
  try {
    await redis?.clear();
    const matching = await own(startMatching(options));
    const url = `http://127.0.0.1:${await matching.call('port')}`;
    const started = await Promise.allSettled([
      own(Child.start<GeneratorProcedures>('The load generator', 'generator')),
      ...Array.from({ length: options.pods }, () => own(startPod(surgeCase, options, url, redis?.url))),
    ]);
    const failed = started.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    const [generator, ...pods] = started.map((each) => (each as PromiseFulfilledResult<unknown>).value) as [
      Child<GeneratorProcedures>,
      ...Child<ServiceProcedures>[],
    ];
    const ports = await Promise.all(pods.map((pod) => pod.call('port')));
    const origins = ports.map((port) => `http://127.0.0.1:${port}`);
    await generator.call('warmUp', { origins, times: WARM_UP_TIMES });

    const services = [matching, ...pods];
    await Promise.all(services.map((service) => service.call('begin')));
    const redisBefore = await redis?.cpuSeconds();
    const first = await matching.call('statistics');
    const { riders, demand, seed } = options;
    await generator.call('start', { origins, riders, demand, seed });
    const since = performance.now();
    const samples = await watch(since + 1000 * options.seconds, async () => {
      const [snapshot, statistics] = await Promise.all([generator.call('snapshot'), matching.call('statistics')]);
      onProgress(snapshot);
      return { atMs: performance.now() - since, statistics };
    });
    const generatorUse = await generator.call('stop');
    const sentForMs = performance.now() - since;
    const last = await matching.call('statistics');
    const redisAfter = await redis?.cpuSeconds();
    const [matchingUse, ...podUses] = await Promise.all(services.map((service) => service.call('end')));
    const observations = await generator.call('answers');
    const end = await matching.call('statistics');
    const count = BURST_PER_POD * options.pods;
    const burst =
      surgeCase.rateLimit === 'off' ? [] : await generator.call('burst', { origins, route: 'rides', count });
    return {
      surgeCase,
      observations,
      burst,
      sentForMs,
      matching: { first, last, end, samples, use: matchingUse! },
      pods: podUses,
      generator: generatorUse,
      redisCpu: redisAfter === undefined ? undefined : (redisAfter - redisBefore!) / (sentForMs / 1000),
    };
  } finally {
    await Promise.all(children.map((child) => child[Symbol.asyncDispose]()));
  }
}

function startMatching({ queue, patienceMs }: SurgeOptions): Promise<Child<ServiceProcedures>> {
  return Child.start('The matching service', 'service', ['matching'], {
    MATCHING_PORT: '0',
    MATCHING_QUEUE: `${queue}`,
    MATCHING_PATIENCE_MS: `${patienceMs}`,
    DRIVERS_SEEDED: `${DRIVERS}`,
    TRIP_SECONDS: `${TRIP_SECONDS}`,
  });
}

function startPod(
  { rateLimit }: SurgeCase,
  { pods, patienceMs }: SurgeOptions,
  matchingUrl: string,
  redisUrl: string | undefined,
): Promise<Child<ServiceProcedures>> {
  return Child.start('A process of the application', 'service', ['application'], {
    PORT: '0',
    PODS: `${pods}`,
    RATE_LIMIT: rateLimit,
    MATCHING_URL: matchingUrl,
    MATCHING_PATIENCE_MS: `${patienceMs}`,
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
  });
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

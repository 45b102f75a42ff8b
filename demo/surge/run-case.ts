import { setTimeout as delay } from 'node:timers/promises';
import type { SurgeCase } from './cases.js';
import { type City, cityOf } from './city.js';
import type { SurgeOptions } from './options.js';
import { machineBusyMs } from '../processes/machine-meter.js';
import type { ProcessUse } from './processes/process-meter.js';
import type { ServiceUse } from './processes/probe.js';
import { endAll, type Processes } from './processes/processes.js';
import { Service } from './processes/service.js';
import type { CrowdSnapshot, Observation } from '../riders/index.js';

/** Matching begins at most 150 trips per second. With so many drivers, matching never runs out of them. */
export const DRIVERS = 2000;
export const TRIP_SECONDS = 10;

/** Requests of one rider at once to each process, after the crowd has left. */
const BURST_PER_POD = 30;

/** Rounds of warm-up requests: V8 compiles what it runs often. */
const WARM_UP_ROUNDS = { pods: 50, matching: 100 };
const SAMPLE_MS = 250;
const MAX_QUEUE_MS = 60_000;

/** Riders who open the app in the first two seconds, when the doors open. They double the number of arrivals. */
export function rushOf(demand: number): number {
  return demand;
}

/** The matching service's answer to `GET /statistics`, as far as the surge reads it. */
export interface MatchingStatistics {
  readonly workers: number;
  readonly busy: number;
  readonly waiting: number;
  readonly recent: { readonly utilisation: number };
  readonly total: {
    readonly asked: number;
    readonly busyMs: number;
    readonly waitMs: { readonly p99: number; readonly max: number };
  };
}

/** The use of a process of the application, and the decisions that it made without Redis. */
export interface PodUse extends ServiceUse {
  readonly decidedLocally: number;
}

/** The raw measurements of a case. */
export interface CaseRecord {
  readonly surgeCase: SurgeCase;
  readonly city: City;
  /** Every request of the crowd. */
  readonly observations: readonly Observation[];
  /** The burst of one rider after the crowd has left; empty without a limiter. */
  readonly burst: readonly Observation[];
  /** How long the crowd sent requests. */
  readonly sentForMs: number;
  readonly matching: {
    /** Statistics when the crowd stopped sending. */
    readonly last: MatchingStatistics;
    /** When `last` was received. On a busy machine that is later than `sentForMs`. */
    readonly lastAtMs: number;
    /** Statistics when every request was answered. */
    readonly end: MatchingStatistics;
    readonly samples: readonly MatchingSample[];
    readonly use: ServiceUse;
  };
  readonly pods: readonly PodUse[];
  readonly generator: ProcessUse;
  /** CPU of Redis as a share of one core; undefined without Redis. */
  readonly redisCpu: number | undefined;
  /** CPU of all processes on the machine as a share of one core. */
  readonly machineCpu: number;
}

export interface MatchingSample {
  readonly atMs: number;
  readonly statistics: MatchingStatistics;
}

/** Runs a case: starts its services, warms them up, sends the crowd and measures. */
export async function runCase(
  surgeCase: SurgeCase,
  options: SurgeOptions,
  { redis, generator }: Processes,
  onProgress: (snapshot: CrowdSnapshot) => void,
): Promise<CaseRecord> {
  const city = cityOf(options.scale);
  await redis?.clear();
  await using services = await CaseServices.start(surgeCase, city, options, redis?.url);
  const { pods } = services;
  await generator.call('open', { origins: pods.map(({ url }) => url), patienceMs: options.patienceMs });
  await generator.call('warmUp', WARM_UP_ROUNDS.pods);
  const matching = await services.replaceMatching(matchingVariables(city, options));

  const measured = [matching, ...pods];
  const localBefore = await Promise.all(pods.map(decidedLocally));
  await Promise.all(measured.map((service) => service.begin()));
  const before = { redis: await redis?.cpuSeconds(), machine: machineBusyMs() };
  const { riders, demand, seed } = options;
  await generator.call('start', { riders, demand, rush: rushOf(demand), seed });
  const since = performance.now();
  const samples = await watch(since + 1000 * options.seconds, async () => {
    const [snapshot, statistics] = await Promise.all([generator.call('snapshot'), statisticsOf(matching)]);
    onProgress(snapshot);
    return { atMs: performance.now() - since, statistics };
  });
  const generatorUse = await generator.call('stop');
  const sentForMs = performance.now() - since;
  const last = await statisticsOf(matching);
  const lastAtMs = performance.now() - since;
  const after = { redis: await redis?.cpuSeconds(), machine: machineBusyMs() };
  const [matchingUse, ...podUses] = await Promise.all(measured.map((service) => service.end()));

  const observations = await generator.call('answers');
  // Riders have left, and the work for them goes on: the burst must not wait behind it.
  const end = await drained(matching);
  const count = BURST_PER_POD * options.pods;
  const burst = surgeCase.rateLimit === 'off' ? [] : await generator.call('burst', { route: 'rides', count });
  // The checks of the limits cover the burst and the last answers, too.
  const localAfter = await Promise.all(pods.map(decidedLocally));
  await generator.call('close');
  return {
    surgeCase,
    city,
    observations,
    burst,
    sentForMs,
    matching: { last, lastAtMs, end, samples, use: matchingUse! },
    pods: podUses.map((use, i) => ({ ...use, decidedLocally: localAfter[i]! - localBefore[i]! })),
    generator: generatorUse,
    redisCpu: after.redis === undefined ? undefined : (1000 * (after.redis - before.redis!)) / sentForMs,
    machineCpu: (after.machine - before.machine) / sentForMs,
  };
}

/** The services of a case: several processes of the application, and the matching service that all of them ask. */
class CaseServices implements AsyncDisposable {
  private constructor(
    private matching: Service,
    readonly pods: readonly Service[],
  ) {}

  /** Starts with a matching service that takes no time, so that the warm-up is short. */
  static async start(
    surgeCase: SurgeCase,
    city: City,
    options: SurgeOptions,
    redisUrl: string | undefined,
  ): Promise<CaseServices> {
    const matching = await Service.start('matching', { MATCHING_WORKERS: '1000', MATCHING_SERVICE_MS: '0' });
    const variables = podVariables(surgeCase, city, options, matching.url, redisUrl);
    const starting = Array.from({ length: options.pods }, () => Service.start('application', variables));
    try {
      return new CaseServices(matching, await Promise.all(starting));
    } catch (error) {
      await endAll([Promise.resolve(matching), ...starting]);
      throw error;
    }
  }

  /** Starts another matching service on the same port: statistics and drivers of the warm-up are gone with the first one. */
  async replaceMatching(variables: Readonly<Record<string, string>>): Promise<Service> {
    await this.matching[Symbol.asyncDispose]();
    this.matching = await Service.start('matching', variables, this.matching.port);
    // Both routes answer without a worker, so the statistics stay at zero.
    for (let round = 0; round < WARM_UP_ROUNDS.matching; round++) {
      for (const path of ['/statistics', '/zones']) await (await this.matching.get(path)).text();
    }
    return this.matching;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endAll([this.matching, ...this.pods].map((service) => Promise.resolve(service)));
  }
}

async function statisticsOf(matching: Service): Promise<MatchingStatistics> {
  return (await (await matching.get('/statistics')).json()) as MatchingStatistics;
}

/** Waits until matching has no work, for `MAX_QUEUE_MS` at most. */
async function drained(matching: Service): Promise<MatchingStatistics> {
  for (const since = performance.now(); ; await delay(SAMPLE_MS)) {
    const statistics = await statisticsOf(matching);
    const isIdle = statistics.waiting === 0 && statistics.busy === 0;
    if (isIdle || performance.now() - since > MAX_QUEUE_MS) return statistics;
  }
}

/** Decisions of a process that Redis did not make in time, since its start. */
async function decidedLocally(pod: Service): Promise<number> {
  const metrics = await (await pod.get('/metrics')).text();
  const [, count] = /^rate_limiter_fallback_decisions_total\{mode="local"\} (\d+)$/m.exec(metrics) ?? [];
  if (count === undefined) throw new Error('GET /metrics has no rate_limiter_fallback_decisions_total{mode="local"}');
  return Number(count);
}

function matchingVariables(
  { workers, serviceMs }: City,
  { queue, cancel, newestFirst }: SurgeOptions,
): Readonly<Record<string, string>> {
  return {
    MATCHING_WORKERS: `${workers}`,
    MATCHING_SERVICE_MS: `${serviceMs}`,
    MATCHING_QUEUE: `${queue}`,
    MATCHING_CANCEL: onOff(cancel),
    MATCHING_NEWEST_FIRST: onOff(newestFirst),
    DRIVERS_SEEDED: `${DRIVERS}`,
    TRIP_SECONDS: `${TRIP_SECONDS}`,
  };
}

function podVariables(
  { rateLimit }: SurgeCase,
  { limit }: City,
  { pods, cancel }: SurgeOptions,
  matchingUrl: string,
  redisUrl: string | undefined,
): Readonly<Record<string, string>> {
  return {
    CONTROL_ROOM: 'off', // its page could start a surge of its own
    PODS: `${pods}`,
    RATE_LIMIT: rateLimit,
    MATCHING_LIMIT: limit.refill.toFixed(3),
    MATCHING_BURST: `${limit.capacity}`,
    MATCHING_URL: matchingUrl,
    MATCHING_CANCEL: onOff(cancel),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
  };
}

function onOff(isOn: boolean): string {
  return isOn ? 'on' : 'off';
}

/** Takes a sample every `SAMPLE_MS` until an instant of `performance.now()`. */
async function watch<T>(until: number, sample: () => Promise<T>): Promise<T[]> {
  const samples: T[] = [];
  for (;;) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) return samples;
    await delay(Math.min(SAMPLE_MS, leftMs));
    samples.push(await sample());
  }
}

import { Record } from './figures/record.js';
import type { Pod } from './pods/pod.js';
import { nextArrival, type Scenario } from './scenarios/scenario.js';
import type { Settings } from './settings.js';
import type { Strategy } from './strategies/strategy.js';
import { Random } from './time/random.js';
import { World } from './world.js';

/** Microseconds in which the pods boot and connect. */
export const WARM_UP = 500_000;
/** Microseconds after the last arrival in which answers may still come. */
const COOL_DOWN = 500_000;

/** What a strategy did in a scenario. */
export interface Figures {
  readonly scenario: string;
  readonly strategy: string;
  readonly pods: number;
  readonly regions: number;
  readonly arrived: number;
  readonly answered: number;
  readonly admitted: number;
  /** What one exact Redis without latency would have admitted of the same arrivals. */
  readonly ideal: number;
  /** Requests beyond capacity + refill x t, in the worst interval of each key. */
  readonly over: number;
  readonly callsPerRequest: number;
  readonly callsPerSecond: number;
  readonly rowsPerCall: number;
  /** The part of a core that the busiest Redis uses. */
  readonly redisCpu: number;
  /** The part of a core that all of them use together. */
  readonly redisCpuSum: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The part of the decisions that each source made, such as `'store'`. */
  readonly decidedBy: { readonly [source: string]: number };
}

/** A run, with what it needs to be disturbed. */
export interface Running {
  readonly world: World;
  readonly record: Record;
}

/**
 * Runs a strategy in a scenario.
 *
 * @param disturb called before the run, to schedule what goes wrong
 */
export async function simulate(
  scenario: Scenario,
  strategy: Strategy,
  settings: Settings,
  disturb: (running: Running) => void = () => undefined,
): Promise<Figures> {
  const record = new Record(scenario.limit);
  const world = new World(settings, record.answer);
  const make = strategy.build(world, scenario.limit);
  for (const pod of world.pods) pod.boot(make);
  const end = WARM_UP + scenario.seconds * 1_000_000;
  scheduleArrivals(scenario, world, record, end);
  disturb({ world, record });
  await world.run(end + COOL_DOWN);
  return figuresOf(scenario, strategy, settings, { world, record });
}

/** Schedules one arrival after the other. All draw from a generator of their own: they are the same for every strategy. */
function scheduleArrivals(scenario: Scenario, world: World, record: Record, end: number): void {
  const { pods, settings, scheduler } = world;
  const random = new Random(settings.seed ^ 0x5eed);
  const byRegion = Array.from({ length: settings.regions }, (_, region) => pods.filter((pod) => pod.region === region));
  let second = 0;
  const next = (): void => {
    second = nextArrival(scenario, second, random);
    const at = WARM_UP + second * 1_000_000;
    if (at >= end) return;
    scheduler.at(at, () => {
      const region = regionOf(random.next(), settings);
      const pod = living(byRegion[region]!, random);
      const identity = scenario.identity(random);
      record.arrive(identity, at);
      pod.request(identity);
      next();
    });
  };
  next();
}

/** The load balancer knows the pods that live. */
function living(pods: readonly Pod[], random: Random): Pod {
  for (;;) {
    const pod = pods[random.below(pods.length)]!;
    if (pod.loop.isAlive) return pod;
  }
}

/** The home region is the first. The others share the rest. */
function regionOf(lot: number, { regions, homeShare }: Settings): number {
  if (regions === 1 || lot < homeShare) return 0;
  return 1 + Math.min(regions - 2, Math.floor(((lot - homeShare) / (1 - homeShare)) * (regions - 1)));
}

function figuresOf(scenario: Scenario, strategy: Strategy, settings: Settings, { world, record }: Running): Figures {
  const { seconds } = scenario;
  const { arrived, answered, admitted, idealAdmitted, excess, decidedBy } = record;
  const servers = world.servers.map(({ server }) => server);
  const calls = sum(servers.map((server) => server.calls));
  const cpu = servers.map(({ cpuTime }) => cpuTime / (seconds * 1_000_000));
  return {
    scenario: scenario.name,
    strategy: strategy.name,
    pods: settings.pods,
    regions: settings.regions,
    arrived,
    answered,
    admitted,
    ideal: idealAdmitted,
    over: excess,
    callsPerRequest: calls / arrived,
    callsPerSecond: calls / seconds,
    rowsPerCall: calls === 0 ? 0 : sum(servers.map(({ rows }) => rows)) / calls,
    redisCpu: Math.max(0, ...cpu),
    redisCpuSum: sum(cpu),
    p50Ms: record.latencyMs(0.5),
    p99Ms: record.latencyMs(0.99),
    decidedBy,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}

import { UsageError, valuesOf } from '../tools/command-line.js';
import { SCENARIO_NAMES, type ScenarioName } from './scenarios/scenario.js';
import { COSTS, NETWORK, type Settings } from './settings.js';
import { STRATEGIES } from './strategies/strategies.js';
import type { Strategy } from './strategies/strategy.js';

/** What to simulate. */
export interface SimulateOptions {
  readonly pods: readonly number[];
  readonly regions: readonly number[];
  readonly scenarios: readonly ScenarioName[];
  readonly strategies: readonly Strategy[];
  readonly faults: boolean;
  readonly json: boolean;
  /** The settings of a run with so many pods and regions. */
  readonly settings: (pods: number, regions: number) => Settings;
}

const DEFAULT_PODS = [10, 100, 1000];
const DEFAULT_REGIONS = [1, 2];
const MAX_PODS = 5000;
/** A decision over a link of 40 ms one way takes 80 ms: the module's 50 ms would send every far request to the fallback. */
const NEAR_DEADLINE_MS = 50;
const FAR_DEADLINE_MS = 250;

export const USAGE = `npm run simulate -- [options]

  --pods N[,N]        processes (10,100,1000)
  --regions N[,N]     1, 2, or both; the pods are divided evenly (1,2)
  --scenario S[,S]    ${SCENARIO_NAMES.join(', ')} (all)
  --strategy S[,S]    ${namesInLines()} (all)
  --home-share N      percent of the requests that arrive in the home region, of two (70)
  --link-ms N         milliseconds one way between two regions (40)
  --exchange-ms N     milliseconds between two exchanges of counts (100)
  --deadline-ms N     the module's deadline (50; with two regions 250)
  --request-us N      CPU time of the application for a request, in microseconds (100)
  --seed N            the same seed gives the same tables (1)
  --faults            also what happens when a pod dies, a link breaks, Redis is away for a second
  --json              prints the figures as one line of JSON in place of the tables
  --help              prints this text
`;

const OPTIONS = {
  pods: { type: 'string' },
  regions: { type: 'string' },
  scenario: { type: 'string' },
  strategy: { type: 'string' },
  'home-share': { type: 'string' },
  'link-ms': { type: 'string' },
  'exchange-ms': { type: 'string' },
  'deadline-ms': { type: 'string' },
  'request-us': { type: 'string' },
  seed: { type: 'string' },
  faults: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type Given = ReturnType<typeof valuesOf<typeof OPTIONS>>;
type TextOption = {
  [Name in keyof typeof OPTIONS]: (typeof OPTIONS)[Name]['type'] extends 'string' ? Name : never;
}[keyof typeof OPTIONS];

/**
 * Reads the command line.
 *
 * @throws {UsageError} for an unknown option or a wrong value
 */
export function readOptions(args: readonly string[]): SimulateOptions {
  const given = valuesOf(OPTIONS, args);
  const whole = (name: TextOption, fallback: number, min: number, max: number): number =>
    wholes(given, name, [fallback], min, max)[0]!;
  const homeShare = whole('home-share', 70, 1, 99) / 100;
  const linkMs = whole('link-ms', 40, 1, 10_000);
  const exchangeMs = whole('exchange-ms', 100, 1, 60_000);
  const seed = whole('seed', 1, 0, 2 ** 31 - 1);
  const request = whole('request-us', COSTS.request, 0, 1_000_000);
  const deadlineMs = given['deadline-ms'] === undefined ? undefined : whole('deadline-ms', NEAR_DEADLINE_MS, 1, 10_000);
  const pods = wholes(given, 'pods', DEFAULT_PODS, 1, MAX_PODS);
  const regions = wholes(given, 'regions', DEFAULT_REGIONS, 1, 2);
  const strategies = namesOf(
    given,
    'strategy',
    STRATEGIES.map(({ name }) => name),
  ).map(strategyOf);
  expectPodOfEachRegion(pods, regions);
  expectRegionsOf(strategies, regions);
  return {
    pods,
    regions,
    scenarios: namesOf(given, 'scenario', SCENARIO_NAMES),
    strategies,
    faults: given.faults ?? false,
    json: given.json ?? false,
    settings: (podCount, regionCount) => ({
      pods: podCount,
      regions: regionCount,
      homeShare,
      seed,
      exchangeMs,
      deadlineMs: deadlineMs ?? (regionCount > 1 ? FAR_DEADLINE_MS : NEAR_DEADLINE_MS),
      costs: { ...COSTS, request },
      network: { ...NETWORK, far: { ...NETWORK.far, microseconds: linkMs * 1000 } },
    }),
  };
}

export function strategyOf(name: string): Strategy {
  return STRATEGIES.find((one) => one.name === name)!;
}

function expectPodOfEachRegion(pods: readonly number[], regions: readonly number[]): void {
  const few = pods.find((count) => count < Math.max(...regions));
  if (few !== undefined) {
    throw new UsageError(`--pods is ${few} with --regions ${Math.max(...regions)}, expected a pod for each region`);
  }
}

/** A strategy that fits none of the regions would print nothing. */
function expectRegionsOf(strategies: readonly Strategy[], regions: readonly number[]): void {
  const idle =
    strategies.length === STRATEGIES.length
      ? undefined
      : strategies.find((one) => !one.regions.some((count) => regions.includes(count)));
  if (idle !== undefined) {
    throw new UsageError(`--strategy ${idle.name} needs --regions ${idle.regions.join(' or ')}, got ${regions.join()}`);
  }
}

function wholes(
  given: Given,
  name: TextOption,
  fallback: readonly number[],
  min: number,
  max: number,
): readonly number[] {
  const text = given[name];
  if (text === undefined) return fallback;
  const isList = name === 'pods' || name === 'regions';
  const values = isList ? text.split(',') : [text];
  for (const value of values) {
    if (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max) continue;
    const wanted = isList ? 'whole numbers' : 'a whole number';
    throw wrong(name, text, `${wanted} from ${min} to ${max}${isList ? ', separated by commas' : ''}`);
  }
  return [...new Set(values.map(Number))];
}

function namesOf<Name extends string>(
  given: Given,
  option: 'scenario' | 'strategy',
  known: readonly Name[],
): readonly Name[] {
  const text = given[option];
  if (text === undefined) return known;
  const names = [...new Set(text.split(','))];
  for (const name of names) {
    if (!known.includes(name as Name)) throw wrong(option, text, `some of ${known.join(', ')}, separated by commas`);
  }
  return names as Name[];
}

function wrong(option: TextOption, value: string, expected: string): UsageError {
  return new UsageError(`--${option} is ${JSON.stringify(value)}, expected ${expected}`);
}

/** The names of the strategies, in lines of the usage text. */
function namesInLines(): string {
  const lines: string[][] = [[]];
  for (const { name } of STRATEGIES) {
    if ([...lines.at(-1)!, name].join(', ').length > 64) lines.push([]);
    lines.at(-1)!.push(name);
  }
  return lines.map((line) => line.join(', ')).join(`,\n${' '.repeat(22)}`);
}

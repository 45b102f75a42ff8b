// The simulation: npm run simulate -- --help
import { disturbWith, type Fault, FAULTS, type FaultFigures } from './faults.js';
import { runCommand } from '../tools/command-line.js';
import { readOptions, type SimulateOptions, USAGE } from './options.js';
import { paintFor } from './output/colours.js';
import {
  type DisturbedFigures,
  FAULT_LEGEND,
  faultTable,
  figuresTable,
  LEGEND,
  whole,
} from './output/figures-table.js';
import { verdictOf } from './output/verdict.js';
import { type Figures, simulate } from './run.js';
import { type Scenario, scenarioOf } from './scenarios/scenario.js';
import { readSeedOptions, SEEDS_USAGE, trySeeds } from './seeds/try-seeds.js';

/** Runs everything that was asked for. Prints a table for each scenario and number of pods, and a verdict at the end. */
async function run(options: SimulateOptions): Promise<void> {
  const all: Figures[] = [];
  const say = (text: string): void => void (options.json || process.stdout.write(`${text}\n\n`));
  const paint = paintFor(process.stdout);
  say(LEGEND);
  for (const { scenario, pods, regions } of casesOf(options)) {
    const figures = await runAll(options, scenario, pods, regions);
    if (figures.length === 0) continue;
    all.push(...figures);
    say(`${scenario.title}\n${placeOf(pods, regions)}`);
    say(figuresTable(figures, paint));
  }
  const disturbed: DisturbedFigures[] = [];
  if (options.faults) {
    say(FAULT_LEGEND);
    for (const { scenario, pods, regions } of casesOf({ ...options, scenarios: ['hot'] })) {
      for (const fault of FAULTS.filter((one) => one.regions.includes(regions))) {
        const figures = await runAllWith(fault, options, scenario, pods, regions);
        if (figures.length === 0) continue;
        disturbed.push(...figures);
        say(`${scenario.title}\n${placeOf(pods, regions)}: ${fault.title}`);
        say(faultTable(figures, paint));
      }
    }
  }
  say(verdictOf(all, paint));
  if (disturbed.length > 0) say(`With the faults\n${verdictOf(disturbed, paint)}`);
  if (options.json) process.stdout.write(`${JSON.stringify([...all, ...disturbed])}\n`);
}

interface Case {
  readonly scenario: Scenario;
  readonly pods: number;
  readonly regions: number;
}

function casesOf({ scenarios, regions, pods }: SimulateOptions): Case[] {
  return scenarios.flatMap((name) =>
    regions.flatMap((count) => pods.map((n) => ({ scenario: scenarioOf(name, n), pods: n, regions: count }))),
  );
}

async function runAll(
  { strategies, settings }: SimulateOptions,
  scenario: Scenario,
  pods: number,
  regions: number,
): Promise<Figures[]> {
  const figures: Figures[] = [];
  for (const strategy of strategies) {
    if (strategy.regions.includes(regions)) figures.push(await simulate(scenario, strategy, settings(pods, regions)));
  }
  return figures;
}

async function runAllWith(
  fault: Fault,
  { strategies, settings }: SimulateOptions,
  scenario: Scenario,
  pods: number,
  regions: number,
): Promise<DisturbedFigures[]> {
  const all: DisturbedFigures[] = [];
  for (const strategy of strategies) {
    if (!strategy.regions.includes(regions)) continue;
    let read: (() => FaultFigures) | undefined;
    const figures = await simulate(scenario, strategy, settings(pods, regions), (running) => {
      read = disturbWith(fault, running);
    });
    all.push({ ...figures, fault: fault.name, ...read!() });
  }
  return all;
}

function placeOf(pods: number, regions: number): string {
  return `${whole(pods)} pods, ${regions === 1 ? 'one region' : `${regions} regions`}`;
}

await runCommand(USAGE + SEEDS_USAGE, async () => {
  const args = process.argv.slice(2);
  if (args.some((arg) => arg.startsWith('--seeds')))
    return Math.min(1, await trySeeds(readSeedOptions(args), console.log));
  return run(readOptions(args));
});

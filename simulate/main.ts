// The simulation: npm run simulate -- --help
import { figuresTable, LEGEND, whole } from './output/figures-table.js';
import { readOptions, type SimulateOptions, USAGE, UsageError } from './options.js';
import { type Figures, simulate } from './run.js';
import { scenarioOf } from './scenarios/scenario.js';

/** Runs everything that was asked for, and prints a table for each scenario and number of pods. */
async function run(options: SimulateOptions): Promise<void> {
  const all: Figures[] = [];
  const say = (text: string): void => void (options.json || process.stdout.write(`${text}\n\n`));
  say(LEGEND);
  for (const scenarioName of options.scenarios) {
    for (const regions of options.regions) {
      for (const pods of options.pods) {
        const scenario = scenarioOf(scenarioName, pods);
        const figures: Figures[] = [];
        for (const strategy of options.strategies) {
          if (!strategy.regions.includes(regions)) continue;
          figures.push(await simulate(scenario, strategy, options.settings(pods, regions)));
        }
        if (figures.length === 0) continue;
        all.push(...figures);
        say(`${scenario.title}\n${whole(pods)} pods, ${regions === 1 ? 'one region' : `${regions} regions`}`);
        say(figuresTable(figures));
      }
    }
  }
  if (options.json) process.stdout.write(`${JSON.stringify(all)}\n`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(USAGE);
  else await run(options);
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(isUsage ? `${error.message}\n\n${USAGE}` : `${(error as Error).stack ?? String(error)}\n`);
  process.exitCode = isUsage ? 2 : 1;
}

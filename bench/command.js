import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startRedis } from './redis.js';
import { run } from './run.js';
import { floorsTables, render, standings } from './table.js';

/** What each bench takes. */
const COMMON = {
  json: { type: 'boolean' },
  smoke: { type: 'boolean' },
  results: { type: 'string' },
};

/**
 * The command line of a bench: `--quick`, `--smoke`, `--results <file>`, `--json`, `--only <how the names of ratios begin>`.
 *
 * @param {object} bench
 * @param {object} bench.floors
 * @param {import('./scenarios/index.js').Scenario[]} bench.scenarios
 * @param {() => Promise<object[]>} [bench.startClusters] beside the one Redis; each has a `stop`
 */
export async function runBench({ floors, scenarios, startClusters = async () => [] }) {
  checkNames(floors, scenarios);
  const options = readOptions({ ...COMMON, quick: { type: 'boolean' }, only: { type: 'string', default: '' } });
  if (!Object.keys(floors).some((name) => name.startsWith(options.only))) {
    process.stderr.write(`--only takes how a name begins, of:\n${Object.keys(floors).join('\n')}\n`);
    process.exit(1);
  }

  const redis = await startRedis();
  let clusters = [];
  try {
    clusters = await startClusters();
    const { ratios, passed, failed } = await run(scenarios, { ...redis, clusters }, options);
    if (!options.smoke) {
      for (const table of floorsTables(floors, ratios)) process.stdout.write(`${render(table)}\n`);
      if (options.json) process.stdout.write(`${JSON.stringify(standings(floors, ratios))}\n`);
    }
    conclude({ passed, failed }, options);
  } finally {
    await Promise.all([redis, ...clusters].map((one) => one.stop()));
  }
}

/** A ratio without an entry among the floors would be in no table. */
export function checkNames(floors, scenarios) {
  const named = Object.keys(floors).toSorted().join(', ');
  const measured = scenarios.flatMap(({ ratios }) => ratios);
  const names = measured.toSorted().join(', ');
  if (names !== named) throw new Error(`The floors name ${named}; the scenarios measure ${names}`);
}

/** The options of this command line. One that does not exist ends the process with a line that says so. */
export function readOptions(options) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}

/** The options of `npm run bench:outage`. */
export function readCommonOptions() {
  return readOptions(COMMON);
}

/**
 * Prints what failed and why, counts the scenarios, and sets the exit code.
 *
 * @param {{ passed: string[], failed: import('./run.js').Failure[] }} scenarios
 * @param {{ results?: string }} options `results`: the file that gets the counts, under Jest's names
 */
export function conclude({ passed, failed }, { results }) {
  for (const { name, error } of failed) process.stderr.write(`\nFAILED: ${name}\n${error.stack}\n`);
  process.stderr.write(`\n${passed.length} scenarios passed, ${failed.length} failed\n`);
  if (results !== undefined) {
    writeFileSync(results, JSON.stringify({ numPassedTests: passed.length, numFailedTests: failed.length }));
  }
  if (failed.length > 0) process.exitCode = 1;
}

import { writeFileSync } from 'node:fs';
import { exitWithUsage, optionsOf } from '../tools/command-line.js';
import { startRedis } from './redis.js';
import { run } from './run.js';
import { floorsTables, render, standings } from './table.js';

const COMMON_USAGE = `
  --json          prints the figures as one line of JSON, too
  --smoke         runs each scenario once and for a moment: whether it runs, not how fast
  --results FILE  writes how many scenarios passed and failed`;
const USAGE = `
  --only NAME     ratios whose names begin so
  --quick         shorter rounds${COMMON_USAGE}`;

/** What each bench takes. */
const COMMON = {
  json: { type: 'boolean' },
  smoke: { type: 'boolean' },
  results: { type: 'string' },
};

/**
 * Runs a bench with the options of its command line.
 *
 * @param {object} bench
 * @param {string} bench.command such as `npm run bench`
 * @param {object} bench.floors
 * @param {import('./scenarios/index.js').Scenario[]} bench.scenarios
 * @param {() => Promise<object[]>} [bench.startClusters] beside the one Redis; each has a `stop`
 */
export async function runBench({ command, floors, scenarios, startClusters = async () => [] }) {
  checkNames(floors, scenarios);
  const usage = `${command} -- [options]${USAGE}`;
  const options = optionsOf(usage, { ...COMMON, quick: { type: 'boolean' }, only: { type: 'string', default: '' } });
  if (!Object.keys(floors).some((name) => name.startsWith(options.only))) {
    const names = Object.keys(floors).join(', ');
    exitWithUsage(usage, `--only is ${JSON.stringify(options.only)}, expected how one of these begins: ${names}`);
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

/** The options of `npm run bench:outage` and `npm run bench:failover`. */
export function readCommonOptions(command) {
  return optionsOf(`${command} -- [options]${COMMON_USAGE}`, COMMON);
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

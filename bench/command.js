import { parseArgs } from 'node:util';
import { startRedis } from './redis.js';
import { run } from './run.js';
import { floorsTable, render } from './table.js';

/**
 * The command line of a bench: `--quick`, `--json`, `--only <how the names of ratios begin>`.
 *
 * @param {object} bench
 * @param {object} bench.floors
 * @param {import('./scenarios/index.js').Scenario[]} bench.scenarios
 * @param {() => Promise<object[]>} [bench.startClusters] beside the one Redis; each has a `stop`
 */
export async function runBench({ floors, scenarios, startClusters = async () => [] }) {
  const { values: options } = parseArgs({
    options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, only: { type: 'string', default: '' } },
  });
  if (!Object.keys(floors).some((name) => name.startsWith(options.only))) {
    process.stderr.write(`--only takes how a name begins, of:\n${Object.keys(floors).join('\n')}\n`);
    process.exit(1);
  }

  const redis = await startRedis();
  let clusters = [];
  try {
    clusters = await startClusters();
    const ratios = await run(scenarios, { ...redis, clusters }, options);
    process.stdout.write(`${render(floorsTable(floors, ratios))}\n`);
    if (options.json) {
      const medians = Object.entries(ratios).map(([name, { median }]) => [name, Number(median.toPrecision(4))]);
      process.stdout.write(`${JSON.stringify(Object.fromEntries(medians))}\n`);
    }
  } finally {
    await Promise.all([redis, ...clusters].map((one) => one.stop()));
  }
}

// Floodgate beside its peers: npm run bench -- [--quick] [--json] [--only <name prefix>]. See README.md.
import { parseArgs } from 'node:util';
import { FLOORS } from './floors.js';
import { startRedis } from './redis.js';
import { run } from './run.js';
import { floorsTable, render } from './table.js';

const { values: options } = parseArgs({
  options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, only: { type: 'string', default: '' } },
});

if (!Object.keys(FLOORS).some((name) => name.startsWith(options.only))) {
  process.stderr.write(`--only takes how a name begins, of:\n${Object.keys(FLOORS).join('\n')}\n`);
  process.exit(1);
}

const redis = await startRedis();
try {
  const ratios = await run(redis, options);
  process.stdout.write(`${render(floorsTable(FLOORS, ratios))}\n`);
  if (options.json) {
    const medians = Object.entries(ratios).map(([name, { median }]) => [name, Number(median.toPrecision(4))]);
    process.stdout.write(`${JSON.stringify(Object.fromEntries(medians))}\n`);
  }
} finally {
  await redis.stop();
}

// The end of the concert, before and after: npm run surge -- --help
import { cpus } from 'node:os';
import { SingleBar } from 'cli-progress';
import { CASES, type CaseName } from './cases.js';
import { type CaseFigures, figuresOf } from './figures/figures.js';
import { readOptions, type SurgeOptions, USAGE, UsageError } from './options.js';
import { jsonLine } from './output/json-line.js';
import { caseTable, comparison, measurement, type Results, scaleOf } from './output/text-report.js';
import { Processes } from './processes/processes.js';
import { runCase } from './run-case.js';

const print = (text: string): unknown => process.stdout.write(`${text}\n`);

async function run(options: SurgeOptions): Promise<void> {
  await using processes = await Processes.start(options.pods, options.store === 'redis');
  const { redis } = processes;
  print(scaleOf(options));
  print(`${cpus().length} cores, Node ${process.versions.node}${redis ? `, Redis ${await redis.version()}` : ''}\n`);
  const results: Partial<Record<CaseName, CaseFigures>> = {};
  for (const surgeCase of CASES) {
    const bar = new SingleBar({
      format:
        '{title} {bar} {value}/{total} s, {inApp} in the app, {waiting} waiting: {allowed} allowed, {refused} refused, {failed} failed',
      stream: process.stderr,
      clearOnComplete: true,
    });
    bar.start(options.seconds, 0, { title: surgeCase.title, inApp: 0, waiting: 0, allowed: 0, refused: 0, failed: 0 });
    const record = await runCase(surgeCase, options, processes, ({ seconds, ...counts }) =>
      bar.update(Math.floor(seconds), counts),
    );
    bar.stop();
    results[surgeCase.name] = figuresOf(record);
    print(caseTable(surgeCase, results[surgeCase.name]!));
  }
  print(comparison(results as Results));
  print(measurement(results as Results));
  if (options.json) print(jsonLine(options, results as Results));
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options) await run(options);
  else print(USAGE);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}

// The load generator: npm run surge -- --help
import { accessSync, constants, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { CASES, type CaseName } from './cases.js';
import { type CaseFigures, figuresOf } from './figures/figures.js';
import { seriesOf } from './figures/series.js';
import { readOptions, type SurgeOptions, USAGE, UsageError } from './options.js';
import { htmlReport } from './output/html-report.js';
import { jsonLine } from './output/json-line.js';
import { Progress } from './output/progress.js';
import { caseTable, comparison, measurement, scaleOf } from './output/text-report.js';
import { verdicts } from './output/verdicts.js';
import { Processes } from './processes/processes.js';
import { runCase } from './run-case.js';

/** Runs all cases and prints their figures. @returns whether the limits kept their promises */
async function run(options: SurgeOptions): Promise<boolean> {
  const sections: { heading: string; text: string }[] = [];
  const show = (heading: string, text: string): void => {
    process.stdout.write(`${heading}\n\n${text}\n\n`);
    sections.push({ heading, text });
  };
  await using processes = await Processes.start(options.store === 'redis');
  const redis = await processes.redis?.version();
  const machine = `${cpus().length} cores, Node ${process.versions.node}${redis === undefined ? '' : `, Redis ${redis}`}`;
  show('The concert ends', `${scaleOf(options)}\n${machine}`);

  const figures: Partial<Record<CaseName, CaseFigures>> = {};
  const series = [];
  for (const surgeCase of CASES) {
    using progress = new Progress(surgeCase.title, options.seconds);
    const record = await runCase(surgeCase, options, processes, (snapshot) => progress.show(snapshot));
    progress[Symbol.dispose]();
    const found = (figures[surgeCase.name] = figuresOf(record));
    series.push(seriesOf(record));
    show(surgeCase.title, caseTable(found));
  }
  const results = figures as Record<CaseName, CaseFigures>;
  show('Side by side', comparison(results));
  show('Other bottlenecks', measurement(results));
  const { text, hold } = verdicts(options, results);
  show('Promises', text);
  if (options.report !== undefined) {
    writeFileSync(options.report, htmlReport(series, sections));
    process.stdout.write(`Charts: ${options.report}\n`);
  }
  if (options.json) process.stdout.write(`${jsonLine(options, results)}\n`);
  return hold;
}

/** Checks the report's folder before the surge starts, which takes minutes. @throws UsageError */
function checkReport({ report }: SurgeOptions): void {
  if (report === undefined) return;
  try {
    accessSync(dirname(report), constants.W_OK);
  } catch {
    throw new UsageError(`--report is ${JSON.stringify(report)}, expected a file in a writable folder`);
  }
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(USAGE);
  } else {
    checkReport(options);
    if (!(await run(options))) process.exitCode = 1;
  }
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(isUsage ? `${error.message}\n\n${USAGE}` : `${(error as Error).stack ?? String(error)}\n`);
  process.exitCode = isUsage ? 2 : 1;
}

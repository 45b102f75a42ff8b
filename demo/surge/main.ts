// The load generator: npm run surge -- --help
import { accessSync, constants, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { runCommand, UsageError } from '../../tools/command-line.js';
import { CASES, type CaseName } from './cases.js';
import { type CaseFigures, figuresOf } from './figures/figures.js';
import { seriesOf } from './figures/series.js';
import { readOptions, type SurgeOptions, USAGE } from './options.js';
import { paintFor } from './output/colours.js';
import { headline } from './output/headline.js';
import { htmlReport } from './output/html-report.js';
import { jsonLine } from './output/json-line.js';
import { Progress } from './output/progress.js';
import { settingOf } from './output/setting.js';
import { tablesOf } from './output/tables.js';
import { duration, percent, textTable } from './output/text-table.js';
import { type Results, verdictOf } from './output/verdict.js';
import { wrap } from './output/wrap.js';
import { Processes } from './processes/processes.js';
import { runCase } from './run-case.js';

const print = (text: string): unknown => process.stdout.write(`${text}\n`);

/** Runs all cases and prints the verdict, and all figures if they are wanted. @returns whether the limits kept their promises */
async function run(options: SurgeOptions): Promise<boolean> {
  const paint = paintFor(process.stdout);
  const cores = availableParallelism();
  await using processes = await Processes.start(options.store === 'redis');
  print(paint('title', 'The concert ends'));
  print(`${options.riders} riders want a ride at once, ${CASES.length} times for ${options.seconds} s.\n`);

  const figures: Partial<Record<CaseName, CaseFigures>> = {};
  const series = [];
  for (const [i, surgeCase] of CASES.entries()) {
    print(`${i + 1} of ${CASES.length}: ${surgeCase.title}`);
    using progress = new Progress(options.seconds);
    const record = await runCase(surgeCase, options, processes, (snapshot) => progress.show(snapshot));
    progress[Symbol.dispose]();
    const found = (figures[surgeCase.name] = figuresOf(record));
    series.push(seriesOf(record));
    print(`        ${inShort(found)}`);
  }
  const results = figures as Results;
  const verdict = verdictOf(options, results, cores);
  print(`\n${headline(verdict, paint)}`);
  const tables = tablesOf(results);
  const redis = await processes.redis?.version();
  const machine = `Machine: ${cores} cores, Node ${process.versions.node}${redis === undefined ? '' : `, Redis ${redis}`}.`;
  const setting = [...settingOf(options), machine];
  if (options.details) {
    for (const table of tables) print(`\n${paint('title', table.heading)}\n\n${textTable(table)}`);
    print(`\n${paint('title', 'The setting')}\n\n${setting.map((text) => wrap(text)).join('\n')}`);
  } else {
    print(`\n${paint('dim', `${machine} --details prints the tables of all figures.`)}`);
  }
  if (options.report !== undefined) {
    writeFileSync(options.report, htmlReport({ verdict, series, tables, setting }));
    print(`\nReport: ${options.report}`);
  }
  if (options.json) print(jsonLine(options, results, verdict));
  return verdict.hold;
}

function inShort({ servedRate, rejectedRate, failureRate, p99Ms }: CaseFigures): string {
  return `served ${percent(servedRate)}, refused ${percent(rejectedRate)}, failed ${percent(failureRate)}; p99 ${duration(p99Ms)}`;
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

await runCommand(USAGE, async () => {
  const options = readOptions(process.argv.slice(2));
  checkReport(options);
  return (await run(options)) ? 0 : 1;
});

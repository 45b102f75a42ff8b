import { writeFileSync } from 'node:fs';
import { runCommand } from '../../tools/command-line.js';
import { NEEDED_BY, requirePrograms } from '../../tools/programs.js';
import { endAll, Log } from './command.js';
import { type ConsumersOptions, readOptions, USAGE } from './options.js';
import { describeRow, printFailure, resultLine } from './report.js';
import type { Result, Row } from './row.js';
import { runRow } from './row-run.js';
import { PAGE, supportTable, writeTable } from './support-table.js';
import { Workshop } from './workshop.js';

const EXIT_INTERRUPTED = 130;
/** How many rows run at a time. */
const PARALLEL = 2;

async function runRows({ rows, keep }: ConsumersOptions, workshop: Workshop): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...rows];
  const work = async (): Promise<void> => {
    for (let row: Row | undefined; (row = left.shift());) {
      const result = await runRow(row, workshop);
      results.push(result);
      console.log(resultLine(result));
      if (result.failure !== undefined) printFailure(result);
      // At once: to remove all of them, some half a million files, takes minutes.
      if (!keep) await workshop.remove(row.name);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return results;
}

/** In the field names of Jest's results, and what each row saw. */
function reportOf(results: readonly Result[]): object {
  const passed = results.filter(({ failure }) => failure === undefined).length;
  return {
    numPassedTests: passed,
    numFailedTests: results.length - passed,
    rows: results.map(({ row: { name, proves }, seconds, versions, failure }) => ({
      name,
      proves,
      passed: failure === undefined,
      seconds: Math.round(seconds),
      versions,
      failure,
    })),
  };
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.list) {
    for (const row of options.rows) console.log(describeRow(row));
    return 0;
  }
  requirePrograms(NEEDED_BY['npm run test:consumers']);
  const workshop = await Workshop.open(new Log());
  const leave = (): void => {
    endAll();
    if (options.keep) console.log(`\nThe applications are in ${workshop.folder}`);
    else workshop.close();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      leave();
      process.exit(EXIT_INTERRUPTED);
    });
  }
  try {
    const results = await runRows(options, workshop);
    const passed = results.filter(({ failure }) => failure === undefined);
    if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(reportOf(results), undefined, 2));
    if (options.writeReadme) writeTable(PAGE, supportTable(passed.map(({ row }) => row)));
    console.log(`\n${passed.length} passed, ${results.length - passed.length} failed`);
    return passed.length === results.length ? 0 : 1;
  } finally {
    leave();
  }
}

await runCommand(USAGE, main);

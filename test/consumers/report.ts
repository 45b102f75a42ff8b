import type { Result, Row } from './row.js';

/** One line of `--list`. */
export function describeRow({ name, proves }: Row): string {
  return `${name.padEnd(28)}${proves}`;
}

/** Whether a row passed, how long it took, and the versions that it installed. */
export function resultLine({ row, seconds, versions, failure }: Result): string {
  const found = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const mark = failure === undefined ? 'passed' : 'FAILED';
  return `${mark}  ${row.name.padEnd(28)}${seconds.toFixed(0).padStart(4)} s  ${found.join(', ')}`;
}

/** Prints the output of all commands of a row, and then what failed. */
export function printFailure({ row, log, failure }: Result): void {
  console.log(`\n--- ${row.name} proves ${row.proves}\n${log.trimEnd()}\n\n--- ${row.name}: ${failure}\n`);
}

import { choicesOf, type Result, type Row } from './row.js';

/** One line of `--list`. */
export function describeRow(row: Row): string {
  const { name, proves, nest, modules, node, resolution, platform, build, redis, manager } = choicesOf(row);
  const choices = [
    nest === 'none' ? 'no Nest' : `Nest ${nest}`,
    modules,
    resolution,
    platform,
    build,
    manager,
    `Node ${node ?? process.versions.node}`,
  ];
  return `${name.padEnd(28)}${proves}\n${' '.repeat(28)}(${[...choices, redis === 'none' ? 'no Redis' : `Redis: ${redis}`].join(', ')})`;
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

import { UsageError, valuesOf } from '../../tools/command-line.js';
import { choicesOf, NESTS, NODES, type Row } from './row.js';
import { ROWS } from './rows.js';

/** In this order: numbers would come first. */
const LINES = Object.keys(NODES).toSorted();

export interface ConsumersOptions {
  readonly rows: readonly Row[];
  /** Whether the run only prints its rows. */
  readonly list: boolean;
  /** The file for the result, which has the field names of Jest's results. */
  readonly json: string | undefined;
  /** Whether the support table is written. */
  readonly writeReadme: boolean;
  /** Whether the applications stay on disk. */
  readonly keep: boolean;
}

export const USAGE = `npm run test:consumers -- [options]

  --only NAME     run this row, or the rows whose names begin with NAME; may be given several times
  --nest MAJOR    run the rows of this Nest, ${NESTS.join(', ')}
  --node LINE     run the rows of this Node, ${LINES.join(', ')}
  --ci            run the rows that .ci/run runs
  --list          print the rows, and do nothing
  --json FILE     write the result, as numPassedTests and numFailedTests
  --write-readme  write the support table of README.md; needs a run of all rows
  --keep          keep the applications
  --help

It packs the library, and installs it and the packages of each application from npm. It needs redis-server: npm run setup.
`;

const OPTIONS = {
  only: { type: 'string', multiple: true },
  nest: { type: 'string' },
  node: { type: 'string' },
  ci: { type: 'boolean' },
  list: { type: 'boolean' },
  json: { type: 'string' },
  'write-readme': { type: 'boolean' },
  keep: { type: 'boolean' },
} as const;

/** @throws {UsageError} with the option, the given value and the expected one */
export function readOptions(args: readonly string[]): ConsumersOptions {
  const given = valuesOf(OPTIONS, args);
  const { only = [], nest, node, ci = false, list = false, json, keep = false } = given;
  const writeReadme = given['write-readme'] === true;
  const rows = ROWS.filter(
    (row) =>
      isAmong(row, only) &&
      (nest === undefined || choicesOf(row).major === nest) &&
      (node === undefined || lineOf(row) === node) &&
      (!ci || row.ci === true),
  );
  if (rows.length === 0)
    throw new UsageError('No row fits all of --only, --nest, --node and --ci; --list prints the rows');
  if (writeReadme && rows.length < ROWS.length) {
    throw new UsageError('--write-readme needs a run of all rows: leave out --only, --nest, --node and --ci');
  }
  return { rows, list, json, writeReadme, keep };
}

/** A row without a Node of its own runs on this process's. */
function lineOf({ node }: Row): string | undefined {
  return node ?? LINES.find((line) => process.versions.node.startsWith(`${line}.`));
}

function isAmong({ name }: Row, only: readonly string[]): boolean {
  if (only.length === 0) return true;
  // A whole name means that row alone: nest11-pnp is the beginning of nest11-pnpm, too.
  return only.some((one) => (ROWS.some((row) => row.name === one) ? name === one : name.startsWith(one)));
}

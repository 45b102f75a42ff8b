import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Choices, choicesOf, MAJORS, type Row } from './row.js';

const fileAt = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The pages that contain the table. */
export const PAGES = ['README.md', 'libs/rate-limit/README.md'].map(fileAt).filter((page) => existsSync(page));

const BEGIN = '<!-- support:begin -->';
const END = '<!-- support:end -->';
const NONE = '–';

type Wording<K extends keyof Choices> = readonly (readonly [value: Choices[K], words: string])[];

/** A line of the table: the values of a choice, in the order in which they are listed. */
interface Line {
  readonly title: string;
  readonly valuesOf: (rows: readonly Choices[]) => string[];
}

function line<K extends keyof Choices>(title: string, choice: K, wording: Wording<K>): Line {
  return {
    title,
    valuesOf: (rows) => wording.flatMap(([value, words]) => (rows.some((row) => row[choice] === value) ? [words] : [])),
  };
}

const LINES: readonly Line[] = [
  line('Nest', 'nest', [
    ['11.1.4', '11.1.4'],
    ['11', '11'],
    ['12', '12'],
  ]),
  line('Node', 'node', [
    ['20.18', '20.18'],
    ['20.19', '20.19'],
    ['22.12', '22.12'],
    ['24', '24'],
  ]),
  line('Modules', 'modules', [
    ['commonjs', 'CommonJS'],
    ['esm', 'ES modules'],
  ]),
  line('`moduleResolution`', 'resolution', [
    ['node10', '`node10`'],
    ['node16', '`node16`'],
    ['nodenext', '`nodenext`'],
    ['bundler', '`bundler`'],
  ]),
  line('Platform', 'platform', [
    ['express', 'Express'],
    ['fastify', 'Fastify'],
  ]),
  line('Built by', 'build', [
    ['tsc', 'tsc'],
    ['swc', 'SWC'],
    ['webpack', 'webpack'],
    ['rspack', 'rspack'],
    ['esbuild', 'esbuild'],
  ]),
  {
    title: 'Tests',
    valuesOf: (rows) => {
      const runners = rows
        .filter(({ tests }) => tests)
        .map(({ modules }): string => (modules === 'esm' ? 'Vitest' : 'Jest'));
      return ['Jest', 'Vitest'].filter((runner) => runners.includes(runner));
    },
  },
  {
    title: 'ioredis',
    valuesOf: (rows) =>
      ['5.4.2', '5', '6'].filter((version) =>
        rows.some(({ ioredis, redis }) => ioredis === version && redis !== 'none'),
      ),
  },
  {
    title: 'node-redis',
    valuesOf: (rows) =>
      ['5.0.0', '5', '6'].filter((version) =>
        rows.some(({ nodeRedis, redis }) => nodeRedis === version && redis !== 'none'),
      ),
  },
  line('Redis', 'redis', [
    ['none', 'without'],
    ['url', 'by URL'],
    ['options', 'by options'],
    ['client', 'your client'],
    ['second-copy', 'a client of another ioredis'],
    ['cluster', 'Cluster'],
    ['iovalkey', 'iovalkey'],
    ['node-redis', 'createClient'],
    ['node-redis-cluster', 'createCluster'],
  ]),
  line('Metrics', 'metrics', [
    ['none', 'without'],
    ['prom-client', 'prom-client'],
    ['opentelemetry', 'OpenTelemetry'],
  ]),
  line('Installed by', 'manager', [
    ['npm', 'npm'],
    ['pnpm', 'pnpm'],
    ['yarn1', 'Yarn 1'],
    ['yarn', 'Yarn 4'],
    ['yarn-pnp', "Yarn 4 Plug'n'Play"],
  ]),
];

/** What the given rows prove, as Markdown: one column for each major version of Nest. */
export function supportTable(rows: readonly Row[]): string {
  const chosen = rows.map(choicesOf);
  const columns = MAJORS.map((one) => chosen.filter(({ major }) => major === one));
  const cells = LINES.map(({ title, valuesOf }) => [
    title,
    ...columns.map((column) => valuesOf(column).join(', ') || NONE),
  ]);
  const all = [['', ...MAJORS.map((major) => `with Nest ${major}`)], ...cells];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const padded = all.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [padded[0], rule, ...padded.slice(1)].join('\n');
}

/**
 * The table in a page.
 *
 * @throws {Error} when the page has no place for it
 */
export function tableIn(page: string): string {
  const [, table] = splitPage(page);
  return table.trim();
}

/** Replaces the table in a page. */
export function writeTable(page: string, table: string): void {
  const [before, , after] = splitPage(page);
  writeFileSync(page, `${before}\n\n${table}\n\n${after}`);
}

function splitPage(page: string): [before: string, table: string, after: string] {
  const text = readFileSync(page, 'utf8');
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${page} has no lines ${BEGIN} and ${END}`);
  return [text.slice(0, begin + BEGIN.length), text.slice(begin + BEGIN.length, end), text.slice(end)];
}

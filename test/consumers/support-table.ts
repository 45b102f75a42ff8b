import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Choices, choicesOf, MAJORS, type Row } from './row.js';

/** The page that contains the table: the packages' own pages link to it. */
export const PAGE = fileURLToPath(new URL('../../docs/support.md', import.meta.url));

const BEGIN = '<!-- support:begin -->';
const END = '<!-- support:end -->';
const NONE = '–';

/** Values that readers know by other words. */
const WORDS: Readonly<Record<string, string>> = {
  commonjs: 'CommonJS',
  esm: 'ES modules',
  node10: '`node10`',
  node16: '`node16`',
  nodenext: '`nodenext`',
  bundler: '`bundler`',
  express: 'Express',
  fastify: 'Fastify',
  swc: 'SWC',
  none: 'without',
  url: 'by URL',
  options: 'by options',
  client: 'your client',
  'second-copy': 'a client of another ioredis',
  cluster: 'Cluster',
  'node-redis': 'createClient',
  'node-redis-cluster': 'createCluster',
  opentelemetry: 'OpenTelemetry',
  yarn1: 'Yarn 1',
  yarn: 'Yarn 4',
  'yarn-pnp': "Yarn 4 Plug'n'Play",
};

/** The lines of the table: a choice, and its values in the order in which they are listed. */
const LINES: readonly (readonly [title: string, values: string, of: (row: Choices) => string | undefined])[] = [
  ['Nest', '11.1.4 11 12', ({ nest }) => nest],
  ['Node', '20.18 20.19 22.12 24', ({ node }) => node],
  ['Modules', 'commonjs esm', ({ modules }) => modules],
  ['`moduleResolution`', 'node10 node16 nodenext bundler', ({ resolution }) => resolution],
  ['Platform', 'express fastify', ({ platform }) => platform],
  ['Built by', 'tsc swc webpack rspack esbuild', ({ build }) => build],
  ['Tests', 'Jest Vitest', ({ tests, modules }) => (tests ? (modules === 'esm' ? 'Vitest' : 'Jest') : undefined)],
  ['ioredis', '5.4.2 5 6', ({ ioredis, redis }) => (redis === 'none' ? undefined : ioredis)],
  ['node-redis', '5.0.0 5 6', ({ nodeRedis, redis }) => (redis === 'none' ? undefined : nodeRedis)],
  ['Redis', 'none url options client second-copy cluster iovalkey node-redis node-redis-cluster', ({ redis }) => redis],
  ['Metrics', 'none prom-client opentelemetry', ({ metrics }) => metrics],
  ['Installed by', 'npm pnpm yarn1 yarn yarn-pnp', ({ manager }) => manager],
];

/** What the given rows prove, as Markdown: one column for each major version of Nest. */
export function supportTable(rows: readonly Row[]): string {
  const chosen = rows.map(choicesOf);
  const columns = MAJORS.map((one) => chosen.filter(({ major }) => major === one));
  const cells = LINES.map(([title, values, of]) => [
    title,
    ...columns.map((column) => {
      const proved = values.split(' ').filter((value) => column.some((row) => of(row) === value));
      return proved.map((value) => WORDS[value] ?? value).join(', ') || NONE;
    }),
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

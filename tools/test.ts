// `npm test` and `npm run test:all`: the checks and the build, then the tests in as few runs as their clocks allow.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { optionsOf } from './command-line.js';
import { isProject, missingPrograms, NEEDED_BY } from './programs.js';

const WORKERS = availableParallelism();
const BROWSER_CONFIG = 'test/browser/jest.config.js';

/** A script of package.json and its arguments. */
type Command = readonly [script: string, ...args: string[]];

/** Without these, the tests would only repeat what is wrong. They run side by side. */
const CHECKS: readonly Command[] = [['lint'], ['format:check'], ['typecheck'], ['build']];

/** A command that runs tests, and its option for the file of its result, in which the counts have Jest's names. */
interface Run {
  readonly command: Command;
  readonly option?: string;
}

const SIDE_BY_SIDE = `--maxWorkers=${WORKERS}`;
const ALONE = '--maxWorkers=1';

/** The projects of Jest whose programs are missing on this machine. Continuous integration skips nothing: there, they fail. */
const SKIPPED = process.env['CI']
  ? []
  : Object.entries(NEEDED_BY).filter(([name, needed]) => isProject(name) && missingPrograms(needed).length > 0);
const SKIPPED_PROJECTS = SKIPPED.map(([name]) => name);

const QUICK: Readonly<Record<string, Run>> = {
  test: {
    command: ['jest', '--ignoreProjects', ...new Set(['alone', ...SKIPPED_PROJECTS]), SIDE_BY_SIDE],
  },
  // The tests that measure real time.
  ...(SKIPPED_PROJECTS.includes('alone') ? {} : { alone: { command: ['jest', '--selectProjects', 'alone', ALONE] } }),
};

/** What `npm run test:all` adds. Each check of the chaos run, consumer and scenario of a bench counts as a test. */
const MORE: Readonly<Record<string, Run>> = {
  // Without the build of `npm run test:browser`: the checks have built the application.
  pages: { command: ['jest', '--config', BROWSER_CONFIG, '--selectProjects', 'pages', 'site', SIDE_BY_SIDE] },
  'pages-alone': { command: ['jest', '--config', BROWSER_CONFIG, '--selectProjects', 'pages-alone', ALONE] },
  'node-redis': { command: ['test:node-redis'] },
  chaos: { command: ['test:chaos', '--minutes', '1', '--seed', '1'], option: '--json' },
  'chaos-redis': { command: ['test:chaos', '--minutes', '1', '--seed', '1', '--client', 'redis'], option: '--json' },
};

/** What `npm run test:all` ends with, side by side: the consumers wait for npm, and no scenario's smoke run judges its figures. */
const LAST: readonly Readonly<Record<string, Run>>[] = [
  { consumers: { command: ['test:consumers', '--ci'], option: '--json' } },
  {
    bench: { command: ['bench', '--smoke'], option: '--results' },
    'bench-cluster': { command: ['bench:cluster', '--smoke'], option: '--results' },
    'bench-outage': { command: ['bench:outage', '--smoke'], option: '--results' },
    'bench-failover': { command: ['bench:failover', '--smoke'], option: '--results' },
  },
];

const ALL_USAGE = `npm run test:all -- [options]\n  --results DIR  writes the counts of each run to a file in this folder`;

const started = performance.now();

function report(name: string, failed: boolean, since: number): void {
  const seconds = (from: number): string => `${Math.round((performance.now() - from) / 1000)} s`;
  console.log(`\n${name}: ${failed ? 'FAILED' : 'passed'} after ${seconds(since)}, ${seconds(started)} in all\n`);
}

/** Shows the output at once, or when the command has ended. Returns whether it failed. */
async function npm([script, ...args]: Command, stdio: 'inherit' | 'pipe'): Promise<boolean> {
  const child = spawn('npm', ['run', '--silent', script, '--', ...args], { stdio: ['ignore', stdio, stdio] });
  const output = [child.stdout, child.stderr].map(async (stream) => (stream === null ? '' : text(stream)));
  const [code] = (await once(child, 'close')) as [number | null];
  process.stdout.write((await Promise.all(output)).join(''));
  return code !== 0;
}

async function check(): Promise<boolean> {
  const since = performance.now();
  const failed = await Promise.all(CHECKS.map((command) => npm(command, 'pipe')));
  const names = CHECKS.filter((_, i) => failed[i]).map(([name]) => name);
  report(names.length === 0 ? 'check and build' : names.join(', '), names.length > 0, since);
  return names.length === 0;
}

/** Runs all, whether the ones before it failed or not: one failure should not hide another. Returns the names of those that failed. */
async function failuresOf(
  runs: Readonly<Record<string, Run>>,
  given: readonly string[],
  results: string | undefined,
  stdio: 'inherit' | 'pipe' = 'inherit',
): Promise<string[]> {
  const failures: string[] = [];
  for (const [name, { command, option }] of Object.entries(runs)) {
    const since = performance.now();
    const file = results === undefined ? undefined : join(resolve(results), `${name}.json`);
    const told = file === undefined ? [] : option === undefined ? ['--json', '--outputFile', file] : [option, file];
    const failed = await npm([...command, ...told, ...given], stdio);
    report(name, failed, since);
    if (failed) failures.push(name);
  }
  return failures;
}

function succeeded(failures: readonly string[]): boolean {
  if (SKIPPED_PROJECTS.length > 0) {
    const programs = new Set(SKIPPED.flatMap(([, needed]) => missingPrograms(needed)));
    console.log(`Skipped: ${SKIPPED_PROJECTS.join(', ')}. Not installed: ${[...programs].join(', ')} (npm run setup)`);
  }
  if (failures.length > 0) console.log(`Failed: ${failures.join(', ')}`);
  return failures.length === 0;
}

async function main(): Promise<boolean> {
  if (process.argv[2] === '--all') {
    process.env['LONG_TESTS'] = '1';
    process.env['SEED'] ??= 'random';
    const values = optionsOf(ALL_USAGE, { all: { type: 'boolean' }, results: { type: 'string' } });
    const checked = await check();
    const failures = await failuresOf({ ...QUICK, ...MORE }, [], values.results);
    const last = await Promise.all(LAST.map((runs) => failuresOf(runs, [], values.results, 'pipe')));
    return succeeded([...failures, ...last.flat()]) && checked;
  }
  const given = process.argv.slice(2);
  if (given.length === 0) process.env['QUICK_TESTS'] = '1';
  return (
    (await check()) &&
    succeeded(await failuresOf(QUICK, given.length > 0 ? [...given, '--passWithNoTests'] : [], undefined))
  );
}

process.exitCode = (await main()) ? 0 : 1;

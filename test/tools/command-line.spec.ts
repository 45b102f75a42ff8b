import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: Record<string, string> };

/** They pass what they do not know on to Jest, or run what is built. */
const OTHERS = new Set(['jest', 'test', 'test:faults', 'test:oldest', 'start:prod', 'start:prod:matching']);

/** What each command runs after its build. */
const COMMANDS = Object.entries(scripts).flatMap(([name, script]) => {
  const last = script.split(' && ').at(-1)!;
  return last.startsWith('node ') && !OTHERS.has(name) ? [[name, last.split(' ').slice(1)] as const] : [];
});

function run(args: readonly string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

it('covers the commands of the repository', () => {
  const names = COMMANDS.map(([name]) => name);
  for (const name of ['start', 'surge', 'trial', 'spec', 'simulate', 'bench', 'bench:outage', 'build:playground']) {
    expect(names).toContain(name);
  }
});

it.each(COMMANDS)('npm run %s: a wrong option is the last line, below a usage that fits beside it', (name, args) => {
  const main = args.find((one) => /^(?!\.).*\/.*\.[jt]s$/.test(one))!;
  // A command that reads no options would do its work here.
  expect(readFileSync(`${ROOT}${main}`, 'utf8')).toMatch(/\/command(?:-line)?\.js'/);
  const { status, err } = run([...args, '--wrong']);
  const lines = err.trimEnd().split('\n');
  expect([lines[0], lines.at(-1), status]).toEqual([
    expect.stringMatching(new RegExp(`^npm (?:run )?${name}\\b`)),
    expect.stringContaining("'--wrong'"),
    2,
  ]);
  expect(lines.length).toBeLessThanOrEqual(12);
});

it.each([
  ['surge', ['--pods', '0'], '--pods is "0", expected a whole number from 1 to 64'],
  ['simulate', ['--seed', 'x'], '--seed is "x", expected a whole number from 0 to 2147483647'],
  ['bench', ['--only', 'nothing'], /^--only is "nothing", expected how one of these begins: \w/],
  ['screenshots', ['--tries', '0'], '--tries is "0", expected a whole number from 1'],
])('npm run %s %j: the wrong value is the last line', (name, wrong, message) => {
  const { status, err } = run([...COMMANDS.find(([one]) => one === name)![1], ...wrong]);
  expect([err.trimEnd().split('\n').at(-1), status]).toEqual([expect.stringMatching(message), 2]);
});

it('prints all options when it is asked for them', () => {
  const { status, out, err } = run([...COMMANDS.find(([one]) => one === 'simulate')![1], '--help']);
  expect([status, err]).toEqual([0, '']);
  expect(out).toMatch(/^npm run simulate -- \[options\]\n[^]*--deadline-ms N[^]*--seeds N/);
});

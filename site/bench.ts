// `npm run site:bench`: runs the scenarios of the bench that the site draws, and writes site/benchmarks.json. The page of the
// benchmarks is drawn from that file.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { optionsOf } from '../tools/command-line.js';
import { requireProgram } from '../tools/programs.js';
import { type Benchmarks, GROUPS, type Ratio } from './build/benchmarks.js';
import { ROOT } from './build/pages.js';

/** The ratios that the site draws. */
const NAMES: readonly string[] = Object.values(GROUPS)
  .flat()
  .map(({ name }) => name);
/** How the names of the ratios begin: the bench runs a scenario for each of them. */
const SCENARIOS = new Set(NAMES.map((name) => name.replace(/\.[^.]+$/, '')));

/** Where the middle half of the rounds of a ratio differs by more than this, they say something of the machine, whichever side they are on. */
const SPREAD = 1.5;

/** A quick run says enough while the machine is quiet. The last attempt has longer rounds, and more of them. */
const ATTEMPTS = [['--quick'], ['--quick'], []];

optionsOf('npm run site:bench');
const ratios: Record<string, Ratio> = {};
const busy: string[] = [];
for (const only of SCENARIOS) {
  let uneven: string[] = [];
  for (const args of ATTEMPTS) {
    const measured = measure(only, args);
    uneven = Object.entries(measured)
      .filter(([, { low, high }]) => high > SPREAD * low)
      .map(([name, { low, high }]) => `  ${name}: ${low} to ${high}`);
    Object.assign(ratios, measured);
    if (uneven.length === 0) break;
    process.stderr.write(`The machine was too busy, and these rounds differ too much:\n${uneven.join('\n')}\n`);
  }
  busy.push(...uneven);
}
if (busy.length > 0) {
  throw new Error(
    `nothing is written: the machine was too busy, and the rounds of these differ too much\n${busy.join('\n')}`,
  );
}
writeFileSync(
  join(ROOT, 'site/benchmarks.json'),
  `${JSON.stringify({ date: new Date().toISOString().slice(0, 10), machine: machine(), ratios } satisfies Benchmarks, null, 2)}\n`,
);

function machine(): string {
  const all = cpus();
  const redis = spawnSync(requireProgram('redis-server'), ['--version'], { encoding: 'utf8' }).stdout;
  const version = /v=(\S+)/.exec(redis)?.[1] ?? 'of an unknown version';
  return `${all.length} cores (${all[0]!.model.trim()}), Node ${process.versions.node}, Redis ${version}`;
}

function measure(only: string, args: readonly string[]): Record<string, Ratio> {
  process.stderr.write(`${only} ...\n`);
  const { stdout, status } = spawnSync(process.execPath, ['bench/index.js', ...args, '--json', '--only', only], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`the bench of ${only} ended with ${status}`);
  const all = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, Ratio>;
  const drawn = Object.entries(all).filter(([name]) => NAMES.includes(name));
  return Object.fromEntries(drawn.map(([name, { median, low, high }]) => [name, { median, low, high }]));
}

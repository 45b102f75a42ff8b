// `npm run site:bench`: runs the scenarios of the bench that the site draws, and writes site/benchmarks.json. The page of the
// benchmarks is drawn from that file.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../tools/programs.js';
import { type Benchmarks, GROUPS, type Ratio } from './build/benchmarks.js';
import { ROOT } from './build/pages.js';

/** How the names of the ratios begin: the bench runs a scenario for each of them. */
const SCENARIOS = new Set(
  Object.values(GROUPS)
    .flat()
    .map(({ name }) => name.replace(/\.[^.]+$/, '')),
);

/** The rounds of a ratio that differ by more than this say something of the machine, whichever side they are on. */
const SPREAD = 2;

const ratios: Record<string, Ratio> = {};
for (const only of SCENARIOS) {
  process.stderr.write(`${only} ...\n`);
  const args = ['bench/index.js', '--quick', '--json', '--only', only];
  const { stdout, status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`the bench of ${only} ended with ${status}`);
  const measured = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, Ratio>;
  for (const [name, { median, min, max }] of Object.entries(measured)) ratios[name] = { median, min, max };
}
const uneven = Object.entries(ratios).filter(([, { min, max }]) => max > SPREAD * min);
if (uneven.length > 0) {
  const lines = uneven.map(([name, { min, max }]) => `  ${name}: ${min} to ${max}`);
  throw new Error(
    `nothing is written: the machine was too busy, and the rounds of these differ too much\n${lines.join('\n')}`,
  );
}
writeFileSync(
  join(ROOT, 'site/benchmarks.json'),
  `${JSON.stringify({ source: 'npm run site:bench', date: new Date().toISOString().slice(0, 10), machine: machine(), ratios } satisfies Benchmarks, null, 2)}\n`,
);

function machine(): string {
  const all = cpus();
  const redis = spawnSync(requireProgram('redis-server'), ['--version'], { encoding: 'utf8' }).stdout;
  const version = /v=(\S+)/.exec(redis)?.[1] ?? 'of an unknown version';
  return `${all.length} cores (${all[0]!.model.trim()}), Node ${process.versions.node}, Redis ${version}`;
}

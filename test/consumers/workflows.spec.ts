import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readOptions } from './options.js';
import { ROWS } from './rows.js';

interface Job {
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps: readonly { readonly run?: string }[];
}

const FOLDER = '.github/workflows';
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const jobsOf = (name: string): Record<string, Job> =>
  (parse(readFileSync(`${FOLDER}/${name}`, 'utf8')) as { jobs: Record<string, Job> }).jobs;

it.each(readdirSync(FOLDER))('the workflow %s runs only npm and scripts of package.json', (name) => {
  const commands = Object.values(jobsOf(name)).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  const called = commands.map((command) => /^npm (?:run )?(\S+)/.exec(command)?.[1] ?? command);
  expect(called.filter((one) => !['ci', 'publish', ...Object.keys(scripts)].includes(one))).toEqual([]);
});

it('the workflows run every row of the consumers once, on a Node that is given or 24', () => {
  const { nest = [], node = [] } = jobsOf('ci.yml')['consumers']!.strategy!.matrix;
  const names = nest.flatMap((major) =>
    node.flatMap((line) => readOptions(['--nest', major, '--node', line]).rows.map(({ name }) => name)),
  );
  const onOwnNode = ROWS.filter((row) => row.node !== undefined || process.versions.node.startsWith('24.'));
  expect(names.toSorted()).toEqual(onOwnNode.map(({ name }) => name).toSorted());
});

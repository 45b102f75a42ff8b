import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readOptions } from './options.js';
import { ROWS } from './rows.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly services?: Readonly<Record<string, { readonly image: string }>>;
  readonly steps: readonly Step[];
}

const FOLDER = '.github/workflows';
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

const workflows = readdirSync(FOLDER).map((name) => {
  const { jobs } = parse(readFileSync(`${FOLDER}/${name}`, 'utf8')) as { jobs: Record<string, Job> };
  return { name, jobs };
});
const steps = workflows.flatMap(({ name, jobs }) =>
  Object.entries(jobs).flatMap(([job, { steps: own }]) => own.map((step) => ({ where: `${name}, ${job}`, ...step }))),
);
const commands = steps.flatMap(({ where, run }) => (run === undefined ? [] : [{ where, run }]));
const actions = steps.flatMap(({ where, uses }) => (uses === undefined ? [] : [{ where, uses }]));

describe('the workflows', () => {
  it.each(commands)('run only npm and scripts of package.json: $where, $run', ({ run }) => {
    const [, script = run] = /^npm (?:run )?(\S+)/.exec(run) ?? [];
    expect(['ci', 'publish', ...Object.keys(scripts)]).toContain(script);
  });

  it.each(actions)('use major versions of actions: $where, $uses', ({ uses }) => {
    expect(uses).toMatch(/^actions\/[\w-]+@v\d+$/);
  });

  it('run every row of the consumers once, on a Node that is given or 24', () => {
    const { nest = [], node = [] } = workflows[0]!.jobs['consumers']!.strategy!.matrix;
    const names = nest.flatMap((major) =>
      node.flatMap((line) => readOptions(['--nest', major, '--node', line])!.rows.map(({ name }) => name)),
    );
    const onOwnNode = ROWS.filter((row) => row.node !== undefined || process.versions.node.startsWith('24.'));
    expect(names.toSorted()).toEqual(onOwnNode.map(({ name }) => name).toSorted());
  });
});

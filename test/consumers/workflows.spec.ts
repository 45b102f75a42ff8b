import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readOptions } from './options.js';
import { ROWS } from './rows.js';

interface Job {
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
}

const { jobs } = parse(readFileSync('.github/workflows/ci.yml', 'utf8')) as { jobs: Readonly<Record<string, Job>> };

it('the workflows run every row of the consumers once, on a Node that is given or 24', () => {
  const { nest = [], node = [] } = jobs['consumers']!.strategy!.matrix;
  const names = nest.flatMap((major) =>
    node.flatMap((line) => readOptions(['--nest', major, '--node', line]).rows.map(({ name }) => name)),
  );
  const onOwnNode = ROWS.filter((row) => row.node !== undefined || process.versions.node.startsWith('24.'));
  expect(names.toSorted()).toEqual(onOwnNode.map(({ name }) => name).toSorted());
});

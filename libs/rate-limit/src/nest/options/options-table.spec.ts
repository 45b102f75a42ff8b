import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES, algorithmEntry } from '../../algorithms/algorithms.js';
import { DEFAULT_NAME } from '../../policy/parse-policy.js';
import { costRule, POLICY_OPTIONS } from '../../policy/policy-options.js';
import { MODULE_OPTIONS } from './options-table.js';

const README = readFileSync(new URL('../../../../../README.md', import.meta.url), 'utf8');

/** The rows of the first table behind a heading: each option's name and its default. */
function rowsBehind(heading: string): [name: string, otherwise: string][] {
  const table = README.slice(README.indexOf(`\n## ${heading}\n`))
    .split('\n| option')[1]!
    .split('\n\n')[0]!;
  return table
    .split('\n')
    .slice(2)
    .flatMap((row) => {
      const cells = row.split(' | ').map((cell) => cell.replaceAll('|', '').trim());
      return [...cells[0]!.matchAll(/`(\w+)`/g)].map(([, name]): [string, string] => [name!, cells.at(-1)!]);
    });
}

function text(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return `\`'${value}'\``;
  if (typeof value === 'number')
    return `\`${value.toLocaleString('en-US').replaceAll(',', value > 9_999 ? '_' : '')}\``;
  return `\`${JSON.stringify(value)}\``;
}

describe("the README's options of the module", () => {
  // What stands beside the options, and what the code, not the table, makes of a missing one.
  const besides = { guard: '`true`', identity: '`[ipIdentity()]`' };

  it('are those of the table, with their defaults', () => {
    const declared = Object.entries(MODULE_OPTIONS).map(([name, rule]) => [name, text(rule.default)]);
    expect(Object.fromEntries(rowsBehind('The module'))).toEqual({
      ...Object.fromEntries(declared),
      ...besides,
    });
  });

  it('stand there once each', () => {
    const names = rowsBehind('The module').map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("the README's options of a policy", () => {
  // What depends on where the policy stands, or on the module.
  const besides = {
    name: text(DEFAULT_NAME),
    scope: "`'route'`, on a class `'controller'`",
    onMissingIdentity: "the module's",
    onStoreFailure: "the module's",
    cost: text(costRule(1).default),
  };

  it('are those of the table and of the algorithms, with their defaults', () => {
    const common = Object.entries(POLICY_OPTIONS).map(([name, rule]) => [name, text(rule.default)]);
    const own = ALGORITHM_NAMES.flatMap((name) => algorithmEntry(name)!.options.map((option) => [option, '']));
    expect(Object.fromEntries(rowsBehind('Policies'))).toEqual({
      ...Object.fromEntries([...common, ...own]),
      ...besides,
    });
  });
});

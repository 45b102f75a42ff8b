import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES, algorithmEntry } from '../../../floodgate/src/algorithms/algorithms.js';
import { DEFAULT_NAME } from '../../../floodgate/src/policy/parse-policy.js';
import { DEFAULT_COST, POLICY_OPTIONS } from '../../../floodgate/src/policy/policy-options.js';
import { MODULE_OPTIONS } from './options-table.js';

const pageOf = (name: string): string => readFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url), 'utf8');

/** The rows of a page's table of options: each option's name and its default. */
function optionsOf(page: string): [name: string, otherwise: string][] {
  const table = pageOf(page).split('\n| option')[1]!.split('\n\n')[0]!;
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

describe('the options of docs/module.md', () => {
  // What stands beside the options, and what the code, not the table, makes of a missing one.
  const besides = { guard: '`true`', identity: '`[ipIdentity()]`' };

  it('are those of the table, with their defaults', () => {
    const declared = Object.entries(MODULE_OPTIONS).map(([name, rule]) => [name, text(rule.default)]);
    expect(Object.fromEntries(optionsOf('module'))).toEqual({
      ...Object.fromEntries(declared),
      ...besides,
    });
  });

  it('stand there once each', () => {
    const names = optionsOf('module').map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the options of docs/policies.md and docs/algorithms.md', () => {
  // What depends on where the policy stands, or on the module.
  const besides = {
    name: text(DEFAULT_NAME),
    align: "`'clock'`",
    scope: "`'route'`, on a class `'controller'`",
    onMissingIdentity: "the module's",
    onStoreFailure: "the module's",
    cost: text(DEFAULT_COST),
    overdraft: 'one capacity or limit',
    prefetch: 'each request asks Redis',
  };

  it('are those of the tables, with their defaults', () => {
    const common = Object.entries(POLICY_OPTIONS).map(([name, rule]) => [name, text(rule.default)]);
    const own = ALGORITHM_NAMES.flatMap((name) => algorithmEntry(name)!.options.map((option) => [option, '']));
    expect(Object.fromEntries([...optionsOf('policies'), ...optionsOf('algorithms')])).toEqual({
      ...Object.fromEntries([...common, ...own]),
      ...besides,
    });
  });
});

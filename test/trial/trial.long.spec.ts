import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ADAPTERS, adapterUrl, load } from '../../lab/trial/contestants.js';
import { PROMISE_NAMES } from '../../lab/trial/promises/titles.js';
import { type Results, resultsOf, tryOut } from '../../lab/trial/trial.js';
import { historiesOf, tableOf } from '../../lab/trial/report.js';

const FOLDER = 'lab/trial';

it('Floodgate keeps all that it promises', async () => {
  const results = resultsOf([await tryOut(await load(adapterUrl('floodgate')), PROMISE_NAMES)]);
  expect(historiesOf(results)).toBe('');
  expect(tableOf(results).match(/\| kept /g)).toHaveLength(PROMISE_NAMES.length);
});

describe('the committed results', () => {
  const results = JSON.parse(readFileSync(`${FOLDER}/results.json`, 'utf8')) as Results;

  it('are of all limiters and all promises, Floodgate first', async () => {
    const all = await Promise.all(ADAPTERS.map(load));
    expect(results.limiters.map(({ name }) => name)).toEqual(all.map(({ adapter }) => adapter.name));
    for (const { verdicts } of results.limiters) expect(verdicts.map(({ promise }) => promise)).toEqual(PROMISE_NAMES);
  });

  it('are those of the table', () => {
    expect(readFileSync(`${FOLDER}/results.md`, 'utf8')).toBe(`${tableOf(results)}\n${historiesOf(results)}`);
  });
});

it('an adapter has 30 lines at most, beside its imports and what it offers', () => {
  for (const name of readdirSync(`${FOLDER}/adapters`)) {
    const text = readFileSync(`${FOLDER}/adapters/${name}`, 'utf8').replace(/^ {2}offers: \{[^]*?^ {2}\},?$/m, '');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('import '));
    expect({ name, fits: lines.length <= 30 }).toEqual({ name, fits: true });
  }
});

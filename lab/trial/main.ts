// `npm run trial`: puts limiters on trial.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runCommand, UsageError, valuesOf } from '../../tools/command-line.js';
import { ADAPTERS, type Contestant, load } from './contestants.js';
import { isPromiseName, PROMISE_NAMES } from './promises/titles.js';
import { historiesOf, tableOf } from './report.js';
import { resultsOf, type Tried, tryOut } from './trial.js';

const USAGE = `npm run trial -- [options]
  --only NAME      limiters whose names contain this (all)
  --promise NAMES  some promises, by commas: ${PROMISE_NAMES.join(', ')}
  --adapter FILE   a limiter of your own, in place of those here
  --json           prints the results as JSON in place of the tables
  --write          writes results.json and results.md`;

async function main(): Promise<number> {
  const { only, promise, adapter, json, write } = valuesOf({
    only: { type: 'string' },
    promise: { type: 'string' },
    adapter: { type: 'string' },
    json: { type: 'boolean' },
    write: { type: 'boolean' },
  });
  const names = promise?.split(',') ?? PROMISE_NAMES;
  if (!names.every(isPromiseName)) throw new UsageError(`--promise takes ${PROMISE_NAMES.join(', ')}, got ${promise}`);
  const urls = adapter === undefined ? ADAPTERS : [pathToFileURL(resolve(adapter)).href];
  const all = await Promise.all(urls.map(load));
  const matches = ({ name }: Contestant['adapter']): boolean => name.toLowerCase().includes((only ?? '').toLowerCase());
  const contestants = all.filter((one) => matches(one.adapter));
  if (contestants.length === 0) {
    throw new UsageError(`--only names none of ${all.map((one) => one.adapter.name).join(', ')}, got ${only}`);
  }
  const tried: Tried[] = [];
  // One after the other: the processes of one that starts are a load for all others.
  for (const one of contestants) {
    try {
      tried.push(await tryOut(one, names, (line) => process.stderr.write(`${line}\n`)));
    } catch (error) {
      console.error(error);
    }
  }
  if (tried.length === 0) return 1;
  const results = resultsOf(tried);
  const text = `${JSON.stringify(results, undefined, 2)}\n`;
  const tables = `${tableOf(results)}\n${historiesOf(results)}`;
  if (write === true) {
    writeFileSync(new URL('results.json', import.meta.url), text);
    writeFileSync(new URL('results.md', import.meta.url), tables);
  }
  process.stdout.write(json === true ? text : tables);
  return tried.length < contestants.length ? 1 : 0;
}

await runCommand(USAGE, main);

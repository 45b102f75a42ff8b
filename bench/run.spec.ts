import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Scenario {
  readonly ratios: readonly string[];
  readonly run: (bench: { onClose(close: () => unknown): void }) => Promise<unknown>;
}

interface Outcome {
  readonly ratios: Record<string, unknown>;
  readonly passed: string[];
  readonly failed: { readonly name: string; readonly error: Error }[];
}

interface Run {
  readonly run: (
    scenarios: Scenario[],
    servers: object,
    options: { only: string; smoke?: boolean },
  ) => Promise<Outcome>;
}

interface Command {
  readonly conclude: (scenarios: Omit<Outcome, 'ratios'>, options: { results?: string }) => void;
}

// The bench is JavaScript: these are the types of what is tested here.
const load = (name: string): Promise<unknown> => import(`./${name}.js`);
const { run } = (await load('run')) as Run;
const { conclude } = (await load('command')) as Command;

const SERVERS = { admin: { flushall: () => Promise.resolve('OK') } };
const ONE = { median: 1, min: 1, max: 1 };

const measuring = (name: string, median = 1): Scenario => ({
  ratios: [name],
  run: async () => ({ ratios: { [name]: { ...ONE, median } }, tables: [{ title: name, head: [''], lines: [['1']] }] }),
});
const failing = (name: string): Scenario => ({
  ratios: [name],
  run: async () => {
    throw new Error('no block has begun');
  },
});

let written: string;
let folder: string;

beforeEach(() => {
  written = '';
  folder = mkdtempSync(join(tmpdir(), 'floodgate-bench-'));
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
  }
});

afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(folder, { recursive: true });
});

describe('a scenario that fails', () => {
  it('keeps the figures of the others, before and after it', async () => {
    const { ratios, passed, failed } = await run([measuring('a.x'), failing('b.x'), measuring('c.x')], SERVERS, {
      only: '',
    });
    expect(ratios).toEqual({ 'a.x': ONE, 'c.x': ONE });
    expect(passed).toEqual(['a.x', 'c.x']);
    expect(failed.map(({ name, error }) => [name, error.message])).toEqual([['b.x', 'no block has begun']]);
    expect(written).toMatch(/^a\.x\n---/);
    expect(written).toMatch(/^c\.x\n---/m);
    expect(written).toMatch(/^b\.x: .* s, FAILED: no block has begun$/m);
  });

  it('closes what it has opened', async () => {
    let closed = 0;
    const opening: Scenario = {
      ratios: ['a.x'],
      run: async (bench) => {
        bench.onClose(() => closed++);
        throw new Error('after the limiter was opened');
      },
    };
    await run([opening], SERVERS, { only: '' });
    expect(closed).toBe(1);
  });

  it('is named in the end, counted, and sets the exit code', async () => {
    const results = join(folder, 'results.json');
    const { passed, failed } = await run([measuring('a.x'), failing('b.x')], SERVERS, { only: '' });
    conclude({ passed, failed }, { results });
    expect(process.exitCode).toBe(1);
    expect(written).toMatch(
      /FAILED: b\.x\nError: no block has begun\n {4}at .*\n[^]*\n1 scenarios passed, 1 failed\n$/,
    );
    expect(JSON.parse(readFileSync(results, 'utf8'))).toEqual({ numPassedTests: 1, numFailedTests: 1 });
  });
});

it.each([
  ['NaN', NaN],
  ['undefined', undefined as never],
])('fails where a ratio is %s', async (what, median) => {
  const scenario = { ...measuring('a.x'), run: async () => ({ ratios: { 'a.x': { ...ONE, median } }, tables: [] }) };
  const { failed } = await run([scenario], SERVERS, { only: '' });
  expect(failed.map(({ error }) => error.message)).toEqual([`a.x is ${what}, not a number`]);
});

it('leaves the exit code alone where all pass, and measures what was asked for only', async () => {
  const { ratios, passed, failed } = await run([measuring('a.x'), failing('b.x')], SERVERS, { only: 'a' });
  conclude({ passed, failed }, {});
  expect(process.exitCode).toBeUndefined();
  expect(ratios).toEqual({ 'a.x': ONE });
});

it('prints no figures of a smoke run', async () => {
  const { passed } = await run([measuring('a.x')], SERVERS, { only: '', smoke: true });
  expect(passed).toEqual(['a.x']);
  expect(written).toMatch(/^a\.x: [\d.]+ s\n$/);
});

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

interface Floor {
  readonly what: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

interface Command {
  readonly conclude: (scenarios: Omit<Outcome, 'ratios'>, options: { results?: string }) => void;
  readonly checkNames: (floors: Record<string, Floor>, scenarios: readonly Scenario[]) => void;
}

interface Tables {
  readonly floorsTables: (
    floors: Record<string, Floor>,
    ratios: Record<string, unknown>,
  ) => { title: string; lines: string[][] }[];
}

// The bench is JavaScript: these are the types of what is tested here.
const load = (name: string): Promise<unknown> => import(`./${name}.js`);
const { run } = (await load('run')) as Run;
const { checkNames, conclude } = (await load('command')) as Command;
const { floorsTables } = (await load('table')) as Tables;

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

describe('the floors', () => {
  const FEW = {
    'a.price': { what: 'a price' },
    'a.met': { what: 'a floor that is met', atLeast: 2 },
    'a.missed': { what: 'a floor that is not', atMost: 1.05 },
    'a.close': { what: 'a floor that is met as it is printed', atMost: 1 },
    'a.failed': { what: 'of a scenario that failed', atMost: 1 },
  };
  const of = (median: number) => ({ ...ONE, median });
  const RATIOS = { 'a.missed': of(1.06), 'a.price': of(3), 'a.met': of(2), 'a.close': of(1.004) };

  it('come last where they are not met', () => {
    const tables = floorsTables(FEW, RATIOS);
    expect(
      tables.map(({ title, lines }) => [title, lines.map(([name, , , , floor, met]) => [name, floor, met])]),
    ).toEqual([
      ['Prices, which have no floor: 1', [['a.price', '', '']]],
      [
        'Floors that are met: 2 of 3',
        [
          ['a.met', '>= 2', 'met'],
          ['a.close', '<= 1', 'met'],
        ],
      ],
      ['Floors that are NOT MET: 1 of 3', [['a.missed', '<= 1.05', 'NOT MET']]],
    ]);
  });

  it('name each ratio that is measured, and each is measured once', () => {
    const floors = { 'a.x': { what: 'a price' }, 'b.x': { what: 'a price' } };
    expect(() => checkNames(floors, [measuring('a.x'), measuring('b.x')])).not.toThrow();
    expect(() => checkNames(floors, [measuring('a.x')])).toThrow('The floors name a.x, b.x; the scenarios measure a.x');
    expect(() => checkNames(floors, [measuring('a.x'), measuring('b.x'), measuring('b.x')])).toThrow(
      'the scenarios measure a.x, b.x, b.x',
    );
  });
});

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

// Takes the snippets out of docs/testing.md, and runs them in a folder of their own as a reader would.

const ROOT = resolve('.');
const PAGE = readFileSync(join(ROOT, 'docs/testing.md'), 'utf8');

/** The code of the page by the file name in its first line. */
const FILES = Object.fromEntries(
  [...PAGE.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, name, code]) => [name!, code!]),
);

/** What the page says of a store without a transaction. */
const RACING = `
import { rateLimitStoreConformance } from 'nestjs-floodgate/testing';
import { TableStore } from './table-store.js';

test('without a transaction, the cases of concurrent requests fail, and no others', async () => {
  const failed: string[] = [];
  const open = (settings: never): TableStore => {
    const rows = new Map<string, unknown>();
    const read = async (key: string) => structuredClone(rows.get(key));
    const write = async (key: string, state: unknown) => void rows.set(key, structuredClone(state));
    return new TableStore({ read, write, transaction: (work) => work() }, settings);
  };
  for (const { name, run } of rateLimitStoreConformance({ name: 'racing', open: open as never })) {
    await run().catch(() => failed.push(name));
  }
  expect(failed.length).toBeGreaterThanOrEqual(6);
  expect(failed.filter((name) => !name.startsWith('concurrent requests: '))).toEqual([]);
});
`;

const VITEST = `
import base from ${JSON.stringify(join(ROOT, 'test/testing-kit/runners/vitest.config.js'))};
export default { ...base, test: { ...base.test, include: ['*.spec.ts'], globals: true } };
`;

const TYPES = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: {
    noEmit: true,
    rootDir: '/',
    types: ['node', 'vitest/globals'],
    paths: {
      'nestjs-floodgate': [join(ROOT, 'libs/rate-limit/src/index.ts')],
      'nestjs-floodgate/*': [join(ROOT, 'libs/rate-limit/src/*/index.ts')],
    },
  },
  include: ['*.ts'],
};

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: readonly string[] }[];
  }[];
}

describe('docs/testing.md', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'testing-docs-'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const others = { 'vitest.config.js': VITEST, 'racing.spec.ts': RACING, 'tsconfig.json': JSON.stringify(TYPES) };
    for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...others, ...FILES })) {
      writeFileSync(join(folder, name), text);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function run(program: string, ...args: string[]): Promise<string> {
    const { NODE_OPTIONS: _, NODE_ENV: __, ...env } = process.env; // Jest's own would reach the process
    const child = promisify(execFile)(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
      cwd: folder,
      env,
    });
    return child.then(
      ({ stdout }) => stdout,
      (failed: { readonly stdout: string }) => failed.stdout,
    );
  }

  it('names the file of every snippet', () => {
    expect(Object.keys(FILES)).toHaveLength([...PAGE.matchAll(/^```ts$/gm)].length);
    expect(Object.keys(FILES)).toContain('limits.spec.ts');
  });

  it('has snippets that pass as tests', async () => {
    const output = await run('vitest/vitest.mjs', 'run', '--config', 'vitest.config.js');
    const { numPassedTests, testResults } = JSON.parse(output.slice(output.indexOf('{"num'))) as Report;
    const failures = testResults.flatMap(({ assertionResults }) =>
      assertionResults.flatMap((one) => one.failureMessages),
    );
    expect(failures).toEqual([]);
    const specs = [...Object.keys(FILES), 'racing.spec.ts'].filter((name) => name.endsWith('.spec.ts'));
    expect(testResults.filter((file) => file.assertionResults.length > 0)).toHaveLength(specs.length);
    expect(numPassedTests).toBeGreaterThan(120);
  }, 120_000);

  it('has snippets that type-check', async () => {
    expect(await run('typescript/bin/tsc', '-p', 'tsconfig.json')).toBe('');
  }, 120_000);

  it('links to its own sections', () => {
    const anchors = [...PAGE.matchAll(/^#+ (.*)$/gm)].map(
      ([, title]) => `#${title!.toLowerCase().replaceAll(' ', '-')}`,
    );
    const links = [...PAGE.matchAll(/\]\((#[^)]*)\)/g)].map(([, link]) => link);
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((link) => !anchors.includes(link!))).toEqual([]);
  });
});

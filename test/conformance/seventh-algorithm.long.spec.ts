import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ALGORITHM_NAMES } from '../../libs/floodgate/src/algorithms/algorithms.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';

// Adds an algorithm to a copy of the repository. The copy's own tests, imported below, then run in this file.

const run = promisify(execFile);
const NAME = 'first-request-window';
const LIBRARY = 'libs/floodgate/src';
/** All that somebody writes for a seventh algorithm. */
const ADDED = {
  [`${LIBRARY}/algorithms/${NAME}/${NAME}.ts`]: `${NAME}.ts.txt`,
  [`lua/algorithms/${NAME}.lua`]: `${NAME}.lua`,
  [`test/conformance/${NAME}.spec.ts`]: `${NAME}.spec.ts.txt`,
};
const CHANGED: Readonly<Record<string, readonly (readonly [before: RegExp, after: string])[]>> = {
  [`${LIBRARY}/algorithms/algorithms.ts`]: [
    [/^/, `import { FIRST_REQUEST_WINDOW } from './${NAME}/${NAME}.js';\n`],
    [/\n\] as const satisfies/, '\n  FIRST_REQUEST_WINDOW,$&'],
  ],
  [`${LIBRARY}/policy/policy.ts`]: [
    [
      /export type Policy<Context = never> =/,
      `export type FirstRequestWindowPolicy<Context = never> = Omit<FixedWindowPolicy<Context>, 'algorithm'> & {\n` +
        `  algorithm: '${NAME}';\n};\n` +
        '$& | FirstRequestWindowPolicy<Context>',
    ],
  ],
};
/** What `npm run lua:bundle` writes. */
const GENERATED = [`${LIBRARY}/stores/redis/batch/programs.generated.ts`];

/** The folder that may know algorithms by name. */
const MAY_KNOW_NAMES = ['algorithms/'];

const NOT_COPIED = new Set(['node_modules', 'dist', 'coverage', '.git', '.snippets', '.recipes']);
const copied = (path: string): boolean => !NOT_COPIED.has(basename(path));

const root = resolve('.');
const copy = mkdtempSync(join(tmpdir(), 'seventh-algorithm-'));
afterAll(() => rmSync(copy, { recursive: true }));

for (const name of readdirSync(root).filter(copied)) {
  cpSync(join(root, name), join(copy, name), { recursive: true, filter: copied });
}
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
for (const [path, source] of Object.entries(ADDED)) {
  cpSync(join(root, 'test/conformance/seventh-algorithm', source), join(copy, path));
}
for (const [path, changes] of Object.entries(CHANGED)) {
  let text = readFileSync(join(copy, path), 'utf8');
  for (const [before, after] of changes) {
    if (!before.test(text)) throw new Error(`${path} has no ${before.source}`);
    text = text.replace(before, after);
  }
  writeFileSync(join(copy, path), text);
}
await run(process.execPath, ['lua/bundle.js'], { cwd: copy });

/** The repository's files whose text differs between the two folders. */
function differences(): string[] {
  const filesOf = (folder: string): string[] =>
    ['lab', 'libs', 'lua', 'test']
      .flatMap((top) =>
        readdirSync(join(folder, top), { recursive: true, encoding: 'utf8' }).map((path) => join(top, path)),
      )
      .filter((path) => path.split('/').every(copied) && /\.\w+$/.test(path));
  const textOf = (folder: string, path: string): string | undefined => {
    try {
      return readFileSync(join(folder, path), 'utf8');
    } catch {
      return undefined; // it is not there
    }
  };
  const all = new Set([...filesOf(root), ...filesOf(copy)]);
  return [...all].filter((path) => textOf(root, path) !== textOf(copy, path));
}

describe('a seventh algorithm', () => {
  it('is its TypeScript file, its Lua file, a line in the list, its policy type and its table of instants', () => {
    const written = [...Object.keys(ADDED), ...Object.keys(CHANGED), ...GENERATED];
    expect(differences().toSorted()).toEqual(written.toSorted());
  });

  it('does not exist without them', () => {
    const policy = { algorithm: NAME, limit: 3, window: '1s' };
    expect(() => parsePolicy(policy, 'test')).toThrow(`algorithm must be one of`);
  });

  it('is known by its name in no other file of the library', () => {
    const known = `'(?:${ALGORITHM_NAMES.join('|')})'`;
    // A comparison, a case, or a key of a table. The policy types name their algorithms, too, as `algorithm: 'token-bucket'`.
    const knows = new RegExp(`[!=]==? ?${known}|${known} ?[!=]==?|\\bcase ${known}|^\\s*\\[?${known}\\]?:`, 'm');
    const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        file.endsWith('.ts') &&
        !/\.(spec|generated)\.ts$/.test(file) &&
        !MAY_KNOW_NAMES.some((folder) => file.startsWith(folder)),
    );
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter((file) => knows.test(readFileSync(join(LIBRARY, file), 'utf8')))).toEqual([]);
  });

  it('type-checks with the rest of the library', async () => {
    const files = [
      `${LIBRARY}/index.ts`,
      `test/conformance/${NAME}.spec.ts`,
      'test/equivalence/one-truth.clients.spec.ts',
    ];
    const config = { extends: './tsconfig.json', include: [], files };
    writeFileSync(join(copy, 'tsconfig.seventh.json'), JSON.stringify(config));
    const compiler = [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.seventh.json'];
    const { stdout } = await run(process.execPath, compiler, { cwd: copy }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });
});

/** Registers the tests of a file of the copy. */
async function tests(path: string): Promise<void> {
  await import(pathToFileURL(join(copy, path)).href);
}

// Its own table, then the common laws and the common properties, which find a seventh algorithm by themselves.
const { HISTORIES } = process.env;
process.env.HISTORIES = '50'; // enough to reach it: a real seventh algorithm would get all of them
await tests(`test/conformance/${NAME}.spec.ts`);
await tests('test/conformance/every-algorithm.clients.spec.ts');
await tests('test/equivalence/one-truth.clients.spec.ts');
if (HISTORIES === undefined) delete process.env.HISTORIES;
else process.env.HISTORIES = HISTORIES;

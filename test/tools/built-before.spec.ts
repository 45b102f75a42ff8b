import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

interface BuiltBefore {
  inputsNow(): string;
  isBuilt(root: string, inputs: string): boolean;
  recordBuilt(root: string, inputs: string): void;
}

const PROGRAM = fileURLToPath(new URL('../../tools/built-before.js', import.meta.url));
const FILES = [
  ...['libs/floodgate', 'libs/nest', 'libs/client'].flatMap((folder) =>
    ['src/index.ts', 'src/deep/er.ts', 'package.json', 'tsconfig.lib.json', 'dist/index.js', 'dist/shared/a.js'].map(
      (name) => `${folder}/${name}`,
    ),
  ),
  'tools/build-package.js',
  'tsconfig.json',
  'package-lock.json',
];

let folder: string;
let root: string;
let built: BuiltBefore;

const write = (file: string, text: string): void => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
};
const isBuilt = (): boolean => built.isBuilt(root, built.inputsNow());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'built-before-'));
  root = join(folder, 'libs/client');
  for (const file of FILES) write(file, file);
  write('package.json', '{ "type": "module" }');
  cpSync(PROGRAM, join(folder, 'tools/built-before.js'));
  built = (await import(pathToFileURL(join(folder, 'tools/built-before.js')).href)) as BuiltBefore;
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is not built before a build, and is after it', () => {
  expect(isBuilt()).toBe(false);
  built.recordBuilt(root, built.inputsNow());
  expect(isBuilt()).toBe(true);
  expect(built.isBuilt(join(folder, 'libs/nest'), built.inputsNow())).toBe(false);
});

it.each(FILES.filter((file) => !/^libs\/(?:floodgate|nest)\/dist/.test(file)))(
  'is not built when %s changes',
  (file) => {
    built.recordBuilt(root, built.inputsNow());
    write(file, 'changed');
    expect(isBuilt()).toBe(false);
    write(file, file);
    expect(isBuilt()).toBe(true);
  },
);

it('is not built without a file of its output, or without the output', () => {
  built.recordBuilt(root, built.inputsNow());
  rmSync(join(root, 'dist/shared/a.js'));
  expect(isBuilt()).toBe(false);
  rmSync(join(root, 'dist'), { recursive: true });
  expect(isBuilt()).toBe(false);
});

it('is not built from a source that changes while the build runs', () => {
  const inputs = built.inputsNow();
  write('libs/client/src/index.ts', 'changed meanwhile');
  built.recordBuilt(root, inputs);
  expect(isBuilt()).toBe(false);
});

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { PUBLISHED } from '../../tools/published.js';
import { expectFigures, type Figures, grown } from '../support/figures.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What is neither written by hand nor published. */
const LEFT_OUT = /\.spec\.ts$|\.generated\.ts$/;

function linesIn(folder: string): number {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => /\.(?:ts|lua)$/.test(file) && !LEFT_OUT.test(file));
  expect(sources).not.toHaveLength(0);
  return sources.reduce((sum, file) => sum + readFileSync(join(ROOT, folder, file), 'utf8').split('\n').length - 1, 0);
}

it('the sources of the packages have not grown', () => {
  const folders = [...PUBLISHED.map(({ folder }) => `${folder}/src`), 'lua'];
  expectFigures('lines', Object.fromEntries(folders.map((folder) => [folder, linesIn(folder)])));
});

it('a warm request runs no more code', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/walk.js', '--json'], { cwd: ROOT });
  const walks = Object.entries(JSON.parse(stdout) as Record<string, Figures>);
  expect(walks).toHaveLength(3);
  const named = walks.flatMap(([walk, figures]) =>
    Object.entries(figures).map(([of, figure]) => [`${of}, ${walk}`, figure] as const),
  );
  expectFigures('walk', Object.fromEntries(named));
});

it.each<[what: string, measured: Figures, problems: readonly string[]]>([
  ['is as before', { a: 1_000 }, []],
  ['shrank', { a: 500 }, []],
  ['grew a little', { a: 1_020 }, []],
  ['grew', { a: 1_021 }, ['lines, a: it is 1021, 2.1 % above the 1000 of test/figures.json']],
  ['is new', { a: 1_000, b: 1 }, ['lines, b: it is 1, and no figure is committed']],
])('a figure that %s', (_, measured, problems) => {
  expect(grown('lines', measured, { a: 1_000 })).toEqual(problems);
});

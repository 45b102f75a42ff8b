import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Relative imports of a folder's modules that lead to another folder, as paths from the root. Specs may import anything. */
function importsFrom(folder: string, other: string): string[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const imports = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .flatMap((file) => {
      const path = join(ROOT, folder, file);
      return Array.from(readFileSync(path, 'utf8').matchAll(/from '(\.[^']*)'/g), ([, specifier]) =>
        relative(ROOT, join(dirname(path), specifier!)),
      );
    });
  return [...new Set(imports)].filter((path) => path.startsWith(`${other}/`)).toSorted();
}

it('imports simulated riders and child processes, and nothing of the application', () => {
  expect(importsFrom('surge', 'src')).toEqual([]);
  expect(importsFrom('surge', 'libs')).toEqual([
    'libs/processes/answer-calls.js',
    'libs/processes/child.js',
    'libs/processes/machine-meter.js',
    'libs/riders/index.js',
  ]);
});

it('is imported neither by the application nor by the folders that both use', () => {
  expect([...importsFrom('src', 'surge'), ...importsFrom('libs', 'surge')]).toEqual([]);
});

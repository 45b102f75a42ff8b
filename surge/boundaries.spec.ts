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

it('imports nothing of the application but its simulated riders and its child processes', () => {
  expect(importsFrom('surge', 'src')).toEqual([
    'src/processes/answer-calls.js',
    'src/processes/child.js',
    'src/processes/machine-meter.js',
    'src/riders/index.js',
  ]);
});

it('is not imported by the application', () => {
  expect(importsFrom('src', 'surge')).toEqual([]);
});

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './pages.js';

const FOLDER = join(ROOT, 'site/.vitepress/cache');
/** Where the types come from, and the code that reads them. */
const SOURCES = ['libs/floodgate/src', 'libs/nest/src', 'libs/client/src'];
const FILES = ['package-lock.json', 'tsconfig.json', 'site/build/hovers.ts', 'site/build/reference.ts'];

/** What the compiler found before, as long as the sources and `input` are the same: it takes half a minute. */
export function cached<T>(name: string, input: unknown, make: () => T): T {
  const file = join(FOLDER, `${name}.json`);
  const key = keyOf(input);
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { key: string; value: T };
    if (kept.key === key) return kept.value;
  } catch {
    // There is none yet, or its end is missing.
  }
  const value = make();
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file, JSON.stringify({ key, value }));
  return value;
}

function keyOf(input: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(input));
  const sources = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .toSorted()
      .map((path) => join(folder, path)),
  );
  for (const path of [...sources, ...FILES]) hash.update(path).update(readFileSync(join(ROOT, path)));
  return hash.digest('hex');
}

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STALE = `${ROOT}dist/compiled/demo/surge/stale.js`;

it('says what it does, compiles beside another process that does, and leaves no module that was deleted', async () => {
  mkdirSync(dirname(STALE), { recursive: true });
  writeFileSync(STALE, 'export {};');
  const help = (): Promise<{ stdout: string }> =>
    promisify(execFile)(process.execPath, ['tools/run.js', 'demo/surge/main', '--help'], { cwd: ROOT });
  for (const { stdout } of await Promise.all([help(), help()])) {
    expect(stdout).toMatch(/^Compiling \.\.\.\nStarting \.\.\.\nnpm run surge -- \[options\]\n/);
  }
  expect(existsSync(STALE)).toBe(false);
});

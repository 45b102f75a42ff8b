// `npm run check:package`: checks the packages as npm would publish them, with publint and attw. An argument names the tarball of
// one; without one all are packed.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionsOf } from './command-line.js';

const PACKAGES = ['floodgate', 'nestjs-floodgate', 'floodgate-client'];
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [given] = process.argv[2]?.endsWith('.tgz') ? process.argv.splice(2, 1) : [];
optionsOf('npm run check:package -- [tarball.tgz]');
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

try {
  for (const tarball of given === undefined ? PACKAGES.map(pack) : [given]) {
    execFileSync('tar', ['-xzf', tarball, '-C', folder]);
    check('publint', 'run', '--strict', '--pack', 'false', join(folder, 'package'));
    const untyped = untypedIn(folder);
    const excluded = untyped.length > 0 ? ['--exclude-entrypoints', ...untyped] : [];
    check('attw', tarball, '--no-color', '--no-emoji', ...excluded);
    rmSync(join(folder, 'package'), { recursive: true });
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** The entry points that have no types: one package of this repository loads them of the other. */
function untypedIn(packed: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(packed, 'package/package.json'), 'utf8')) as {
    exports: Record<string, string | { import: string | object }>;
  };
  return Object.entries(exports).flatMap(([path, entry]) =>
    typeof entry === 'object' && typeof entry.import === 'string' ? path.slice(2) : [],
  );
}

function pack(name: string): string {
  const args = ['pack', '-w', name, '--pack-destination', folder];
  const printed = execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] }).toString();
  return join(folder, printed.trim().split('\n').at(-1)!);
}

function check(program: string, ...args: string[]): void {
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin', program), args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

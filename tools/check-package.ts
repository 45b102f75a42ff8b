// `npm run check:package`: checks the packages as npm would publish them, with publint and attw. An argument names the tarball of
// one; without one all are packed.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGES = ['nestjs-floodgate', 'floodgate-client'];
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

try {
  const [given] = process.argv.slice(2);
  for (const tarball of given === undefined ? PACKAGES.map(pack) : [given]) {
    execFileSync('tar', ['-xzf', tarball, '-C', folder]);
    check('publint', 'run', '--strict', '--pack', 'false', join(folder, 'package'));
    check('attw', tarball, '--no-color', '--no-emoji');
    rmSync(join(folder, 'package'), { recursive: true });
  }
} finally {
  rmSync(folder, { recursive: true });
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

// `npm run check:package`: checks the package as npm would publish it, with publint and attw. An argument names its tarball;
// without one it is packed.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

try {
  const tarball = process.argv[2] ?? pack();
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  check('publint', 'run', '--strict', '--pack', 'false', join(folder, 'package'));
  check('attw', tarball, '--no-color', '--no-emoji');
} finally {
  rmSync(folder, { recursive: true });
}

function pack(): string {
  const args = ['pack', '-w', 'nestjs-floodgate', '--pack-destination', folder];
  const printed = execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] }).toString();
  return join(folder, printed.trim().split('\n').at(-1)!);
}

function check(program: string, ...args: string[]): void {
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin', program), args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

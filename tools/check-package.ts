// `npm run check:package`: checks the package as npm would publish it, with publint and attw. An argument names its tarball;
// without one it is packed.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

try {
  const tarball = process.argv[2] ?? pack();
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const unbuilt = leaveOutUnbuilt(join(folder, 'package'));
  const excluded = unbuilt.length === 0 ? [] : ['--exclude-entrypoints', ...unbuilt];
  check('publint', 'run', '--strict', '--pack', 'false', join(folder, 'package'));
  check('attw', tarball, '--no-color', '--no-emoji', ...excluded);
} finally {
  rmSync(folder, { recursive: true });
}

function pack(): string {
  const args = ['pack', '-w', 'nestjs-floodgate', '--pack-destination', folder];
  const printed = execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] }).toString();
  return join(folder, printed.trim().split('\n').at(-1)!);
}

/** An entry point without sources is not built, and is no part of the package yet. */
function leaveOutUnbuilt(unpacked: string): string[] {
  const file = join(unpacked, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { exports: Record<string, unknown> };
  const names = Object.keys(manifest.exports).flatMap((path) => /^\.\/(\w+)$/.exec(path)?.[1] ?? []);
  const unbuilt = names.filter((name) => !existsSync(join(ROOT, 'libs/rate-limit/src', name, 'index.ts')));
  for (const name of unbuilt) {
    console.log(`not checked, because it has no sources: ${name}`);
    delete manifest.exports[`./${name}`];
  }
  writeFileSync(file, JSON.stringify(manifest));
  return unbuilt;
}

function check(program: string, ...args: string[]): void {
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin', program), args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

// `npm run check:package`: packs the packages in the order in which they are published, and checks each packed file: its texts, its
// entry points (publint, attw), and what npm says of publishing it (a dry run, which needs no account).
// An argument names a packed file, which is checked alone.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionsOf } from './command-line.js';
import { PUBLISHED } from './published.js';

interface Manifest {
  readonly name: string;
  readonly license?: string;
  readonly repository?: { readonly url?: string; readonly directory?: string };
  readonly exports?: Readonly<Record<string, string | { readonly import: string | object }>>;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TEXTS = ['LICENSE', 'README.md'];
/** The provenance of a package names the repository that its manifest names. */
const REPOSITORY = 'git+https://github.com/floodgate-nest/floodgate.git';
/** A dry run says so, and goes on. */
const NO_ACCOUNT = 'This command requires you to be logged in';

const USAGE = `npm run check:package -- [packed.tgz] [--keep FOLDER]
  --keep FOLDER  leaves the packed files there, numbered in the order in which they are published`;

const [given] = process.argv[2]?.endsWith('.tgz') ? process.argv.splice(2, 1) : [];
const { keep } = optionsOf(USAGE, { keep: { type: 'string' } });
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

try {
  if (given !== undefined) checkPacked(given);
  else for (const [i, { name }] of PUBLISHED.entries()) checkPackage(name, i + 1);
} finally {
  rmSync(folder, { recursive: true });
}

function checkPackage(name: string, order: number): void {
  const pack = ['pack', '--silent', '-w', name, '--pack-destination', folder];
  const packed = spawnSync('npm', pack, { cwd: ROOT, encoding: 'utf8' });
  if (packed.status !== 0) return fail(`npm pack of ${name}:`, packed.stderr);
  const tarball = join(folder, packed.stdout.trim().split('\n').at(-1)!);
  checkPacked(tarball);
  // `npm run --silent` would silence its warnings, too.
  const dryRun = ['publish', '--dry-run', '--loglevel', 'warn', '-w', name];
  const { status, stderr } = spawnSync('npm', dryRun, { cwd: ROOT, encoding: 'utf8' });
  const warnings = stderr.split('\n').filter((line) => /^npm (?:warn|error)/.test(line) && !line.includes(NO_ACCOUNT));
  if (status !== 0 || warnings.length > 0) fail(`npm publish --dry-run of ${name}:`, ...warnings);
  else console.log(`npm publish --dry-run of ${name}: no warning`);
  if (keep === undefined) return;
  mkdirSync(keep, { recursive: true });
  cpSync(tarball, join(keep, `${order}-${basename(tarball)}`));
}

function checkPacked(tarball: string): void {
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const unpacked = join(folder, 'package');
  const { name, license, repository, exports } = JSON.parse(
    readFileSync(join(unpacked, 'package.json'), 'utf8'),
  ) as Manifest;
  const missing = TEXTS.filter((text) => !existsSync(join(unpacked, text)));
  if (missing.length > 0) fail(`${name} has no ${missing.join(', ')}`);
  if (license !== 'MIT') fail(`${name} has the license ${license}: it has MIT`);
  if (repository?.url !== REPOSITORY) fail(`${name} has the repository ${repository?.url}: it has ${REPOSITORY}`);
  const { folder: own } = PUBLISHED.find((one) => one.name === name) ?? {};
  if (repository?.directory !== own) fail(`${name} has the folder ${repository?.directory}: it has ${own}`);
  if (exports === undefined) fail(`${name} has no exports: all of its files would be public`);
  check('publint', 'run', '--strict', '--pack', 'false', unpacked);
  const untyped = untypedIn(exports ?? {});
  const excluded = untyped.length > 0 ? ['--exclude-entrypoints', ...untyped] : [];
  check('attw', tarball, '--no-color', '--no-emoji', ...excluded);
  rmSync(unpacked, { recursive: true });
}

/** The entry points that have no types: one package of this repository loads them of the other. */
function untypedIn(exports: NonNullable<Manifest['exports']>): string[] {
  return Object.entries(exports).flatMap(([path, entry]) =>
    typeof entry === 'object' && typeof entry.import === 'string' ? path.slice(2) : [],
  );
}

function check(program: string, ...args: string[]): void {
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin', program), args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

function fail(...lines: readonly string[]): void {
  console.error(lines.join('\n'));
  process.exitCode = 1;
}

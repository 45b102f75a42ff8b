// Jest loads this file as its globalSetup, where moduleNameMapper does not apply: a relative import would not resolve.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

const HOW_TO_GET_ONE =
  'The browser tests need chromium on PATH: apt install chromium, or set CHROMIUM_BIN to a Chromium or Chrome';

/** @throws Error when there is none */
export function requireChromium(): string {
  const path = findChromium();
  if (path === undefined) throw oneLineError(HOW_TO_GET_ONE);
  return path;
}

/** Installs one where it can. */
export default function ensureChromium(): void {
  if (findChromium() === undefined && canInstall()) install();
  requireChromium();
}

/** CHROMIUM_BIN if set, else the first on PATH. */
function findChromium(): string | undefined {
  const chosen = process.env['CHROMIUM_BIN'];
  if (chosen) {
    const path = chosen.includes('/') ? executable(resolve(chosen)) : onPath(chosen);
    // Another browser would be something other than what was asked for.
    if (path === undefined) throw oneLineError(`CHROMIUM_BIN names ${chosen}, which is not an executable file`);
    return path;
  }
  return NAMES.map(onPath).find((path) => path !== undefined);
}

function onPath(name: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '');
  return directories.map((directory) => executable(join(directory, name))).find((path) => path !== undefined);
}

function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

function canInstall(): boolean {
  if (process.getuid?.() !== 0 || onPath('apt-get') === undefined) return false;
  try {
    return /^(?:ID|ID_LIKE)=.*\bdebian\b/m.test(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return false;
  }
}

function install(): void {
  process.stderr.write('No chromium found: installing it with apt-get\n');
  // A failing update is not fatal: one unreachable third-party list need not keep the package from installing.
  apt('update');
  if (apt('install', '-y', '--no-install-recommends', 'chromium', 'fonts-dejavu-core')) return;
  throw oneLineError(`${HOW_TO_GET_ONE} (apt-get install failed, see above)`);
}

function apt(...args: string[]): boolean {
  const { status, stdout, stderr } = spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status === 0;
}

/** Jest prints the stack of an error of globalSetup; of these only the message helps. */
function oneLineError(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}

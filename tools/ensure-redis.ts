// Jest loads this file as its globalSetup, where moduleNameMapper does not apply: a relative import would not resolve.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const HOW_TO_GET_ONE =
  'The tests and the surge need redis-server or valkey-server on PATH: ' +
  'apt install redis-server, brew install redis, or set REDIS_SERVER_BIN';

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const APT_LOCK = '/run/lock/floodgate-apt';

/** The server that tests and the surge run against: REDIS_SERVER_BIN if set, else redis-server or valkey-server on PATH. */
export function findRedisServer(): string | undefined {
  const chosen = process.env['REDIS_SERVER_BIN'];
  if (chosen) {
    const path = chosen.includes('/') ? executable(resolve(chosen)) : onPath(chosen);
    // Falling back to another server would test something other than what was asked for.
    if (!path) throw oneLineError(`REDIS_SERVER_BIN names ${chosen}, which is not an executable file`);
    return path;
  }
  return onPath('redis-server') ?? onPath('valkey-server');
}

export function requireRedisServer(): string {
  const path = findRedisServer();
  if (!path) throw oneLineError(HOW_TO_GET_ONE);
  return path;
}

/** Installs one where it can. Jest's globalSetup: runs once, before any worker, so that no two workers install at the same time. */
export default function ensureRedis(): void {
  if (!findRedisServer()) install('redis-server');
  requireRedisServer();
}

/** The executable file of this name, as a shell would find it. */
export function onPath(name: string): string | undefined {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = directory && executable(join(directory, name));
    if (path) return path;
  }
  return undefined;
}

function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && isDebianLike() && onPath('apt-get') !== undefined;
}

function isDebianLike(): boolean {
  try {
    const release = readFileSync('/etc/os-release', 'utf8');
    return /^(?:ID|ID_LIKE)=.*\b(?:debian|ubuntu)\b/m.test(release);
  } catch {
    return false;
  }
}

/** Installs a Debian package where that can be done, without starting its service. Who needs it looks whether it is there. */
export function install(name: string): void {
  if (!canInstall()) return;
  process.stderr.write(`No ${name} found: installing it with apt-get\n`);
  const forbidsServices = forbidServiceStarts();
  try {
    // A failing update is not fatal: one unreachable third-party list need not keep the package from installing.
    apt('update');
    apt('install', '-y', '--no-install-recommends', name);
  } finally {
    if (forbidsServices) rmSync(POLICY_FILE, { force: true });
    // A policy that was here before may have let the package start its service, which takes a port.
    else spawnSync('service', [name, 'stop'], { stdio: 'ignore' });
  }
}

/** Keeps the package from starting a system service: status 101 of this file is Debian's "action forbidden". */
function forbidServiceStarts(): boolean {
  try {
    writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' });
    return true;
  } catch {
    return false; // The machine has a policy of its own, which stays as it is.
  }
}

function apt(...args: string[]): boolean {
  // One after the other: an update fails where another one runs, and an installation while one runs.
  const inTurn = [APT_LOCK, 'apt-get', '-qq', '-o', 'DPkg::Lock::Timeout=60', ...args];
  const { status, stdout, stderr } = spawnSync('flock', inTurn, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status === 0;
}

/** Jest prints the stack of an error of globalSetup; of these only the message helps. */
export function oneLineError(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}

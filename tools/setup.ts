// `npm run setup`: installs the Debian packages that the tests need. Does nothing when all programs are there.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  describeProgram,
  findProgram,
  isOptional,
  NEEDED_BY,
  onPath,
  packagesOf,
  PROGRAMS,
  type Program,
} from './programs.js';

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const APT_LOCK = '/run/lock/floodgate-apt';
const APT_LOCK_SECONDS = 120;

const missing = (): Program[] => PROGRAMS.filter((name) => findProgram(name) === undefined);

function main(): void {
  const absent = missing();
  if (absent.length === 0) {
    console.log('setup: everything that the tests need is installed');
    return;
  }
  const packages = [...new Set(absent.flatMap(packagesOf))];
  const obstacle = obstacleToInstalling();
  if (obstacle !== undefined && absent.every(isOptional)) {
    console.log(`setup: all that the tests need is installed, but not ${absent.join(', ')}: ${obstacle}`);
    return;
  }
  if (obstacle !== undefined) {
    fail(`not installed: ${absent.join(', ')}. This command cannot install them: ${obstacle}.

${hasApt() ? withApt(packages) : byName(absent)}

${untilThen(absent)}`);
    return;
  }
  console.log(`setup: installing ${packages.join(', ')}`);
  install(packages);
  const still = missing().filter((name) => !isOptional(name));
  if (still.length > 0) {
    fail(
      `not installed, although apt-get has run: ${still.join(', ')}. Its messages are above.\n\n${untilThen(still)}`,
    );
  }
}

function withApt(packages: readonly string[]): string {
  return `Install them with\n  sudo apt-get install ${packages.join(' ')}`;
}

function byName(absent: readonly Program[]): string {
  const lines = absent.map((name) => `  ${describeProgram(name)}; Debian's package is ${packagesOf(name)[0]}`);
  return `Install them by name, and run this command again to see what is still missing:\n${lines.join('\n')}`;
}

/** What works without these programs, and what does not. */
function untilThen(absent: readonly Program[]): string {
  const names = Object.keys(NEEDED_BY) as (keyof typeof NEEDED_BY)[];
  const stands = (name: keyof typeof NEEDED_BY): boolean => NEEDED_BY[name].some((one) => absent.includes(one));
  const isProject = (name: string): boolean => /^[\w-]+$/.test(name);
  const projects = names.filter((name) => isProject(name) && !stands(name));
  const commands = names.filter((name) => !isProject(name) && name.startsWith('npm') && !stands(name));
  const failing = names.filter(stands).map((name) => (isProject(name) ? `the project ${name}` : name));
  return `Without them these work:
  npm start, npm run check, npm run build${commands.map((name) => `, ${name}`).join('')}
  npm run build && npm run jest -- --selectProjects ${projects.join(' ')}
These do not:
  ${failing.join(', ')}`;
}

function fail(message: string): void {
  process.stderr.write(`setup: ${message}\n`);
  process.exitCode = 1;
}

function obstacleToInstalling(): string | undefined {
  if (!hasApt()) return 'this system has no apt-get (it is neither Debian nor Ubuntu)';
  if (process.getuid?.() !== 0) return 'it does not run as root';
  return undefined;
}

function hasApt(): boolean {
  return isDebianLike() && onPath('apt-get') !== undefined;
}

function isDebianLike(): boolean {
  try {
    const release = readFileSync('/etc/os-release', 'utf8');
    return /^(?:ID|ID_LIKE)=.*\b(?:debian|ubuntu)\b/m.test(release);
  } catch {
    return false;
  }
}

/** Installs packages without starting their services. */
function install(packages: readonly string[]): void {
  const forbidsServices = forbidServiceStarts();
  try {
    // A failing update is not fatal: one unreachable third-party list need not keep a package from installing.
    apt('update');
    // One by one: a package that cannot be installed keeps no other from it.
    for (const name of packages) apt('install', '-y', '--no-install-recommends', name);
  } finally {
    if (forbidsServices) rmSync(POLICY_FILE, { force: true });
    // A policy that was here before may have let a package start its service, which takes a port.
    else for (const name of packages) spawnSync('service', [name, 'stop'], { stdio: 'ignore' });
  }
}

/** Keeps packages from starting a service: status 101 of this file is Debian's "action forbidden". */
function forbidServiceStarts(): boolean {
  try {
    writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' });
    return true;
  } catch {
    return false; // The machine has a policy of its own, which stays as it is.
  }
}

function apt(...args: string[]): void {
  // apt-get fails where another one runs. `flock` makes two setups take turns.
  const command = [APT_LOCK, 'apt-get', '-qq', '-o', `DPkg::Lock::Timeout=${APT_LOCK_SECONDS}`, ...args];
  const { status, stdout, stderr } = spawnSync('flock', command, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
}

try {
  main();
} catch (error) {
  fail((error as Error).message);
}

// `npm run setup`: installs the programs that the tests need, by apt-get or Homebrew. Does nothing when all are there.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { optionsOf } from './command-line.js';
import {
  describeProgram,
  formulaeOf,
  isProject,
  isOptional,
  missingPrograms,
  NEEDED_BY,
  onPath,
  packagesOf,
  type Program,
} from './programs.js';

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const APT_LOCK = '/run/lock/floodgate-apt';
const APT_LOCK_SECONDS = 120;

/** How programs are installed on a system. */
interface Installer {
  /** What has them: a package has one program or several. */
  packagesOf(program: Program): readonly string[];
  /** The command that a person would type. */
  readonly command: string;
  readonly install?: (packages: readonly string[]) => void;
  /** Why this command cannot run it. */
  readonly obstacle?: string;
}

function main(): void {
  const absent = missingPrograms();
  if (absent.length === 0) {
    console.log('setup: everything that the tests need is installed');
    return;
  }
  const installer = installerHere();
  const obstacle = installer?.obstacle ?? (installer ? undefined : 'this system has neither apt-get nor Homebrew');
  if (obstacle !== undefined && absent.every(isOptional)) {
    console.log(`setup: all that the tests need is installed, but not ${absent.join(', ')}: ${obstacle}`);
    return;
  }
  const packages = installer ? [...new Set(absent.flatMap((name) => installer.packagesOf(name)))] : [];
  if (installer?.install === undefined) {
    const how = installer ? `Install them with\n  ${installer.command} ${packages.join(' ')}` : byName(absent);
    fail(
      `not installed: ${absent.join(', ')}. This command cannot install them: ${obstacle}.\n\n${how}\n\n${untilThen(absent)}`,
    );
    return;
  }
  console.log(`setup: installing ${packages.join(', ')}`);
  installer.install(packages);
  const still = missingPrograms().filter((name) => !isOptional(name));
  if (still.length === 0) return;
  const without = still.filter((name) => installer.packagesOf(name).length === 0);
  const failed = still.filter((name) => !without.includes(name));
  const told = [
    ...(failed.length > 0 ? [`not installed, although ${installer.command} has run: ${failed.join(', ')}`] : []),
    ...(without.length > 0 ? [`not for this system: ${without.join(', ')}. \`npm test\` skips what needs them`] : []),
  ];
  const message = `${told.join('\n')}\n\n${untilThen(still)}`;
  if (failed.length > 0) fail(message);
  else console.log(`setup: ${message}`);
}

function installerHere(): Installer | undefined {
  if (isDebianLike() && onPath('apt-get') !== undefined) {
    const isRoot = process.getuid?.() === 0;
    const command = 'sudo apt-get install';
    return isRoot ? { packagesOf, command, install } : { packagesOf, command, obstacle: 'it does not run as root' };
  }
  if (onPath('brew') === undefined) return undefined;
  return {
    packagesOf: formulaeOf,
    command: 'brew install',
    install: (formulae) => {
      for (const name of formulae) spawnSync('brew', ['install', name], { stdio: 'inherit' });
    },
  };
}

function byName(absent: readonly Program[]): string {
  const lines = absent.map((name) => `  ${describeProgram(name)}; Debian's package is ${packagesOf(name)[0]}`);
  return `Install them by name, and run this command again to see what is still missing:\n${lines.join('\n')}`;
}

/** What works without these programs, and what does not. */
function untilThen(absent: readonly Program[]): string {
  const names = Object.keys(NEEDED_BY) as (keyof typeof NEEDED_BY)[];
  const stands = (name: keyof typeof NEEDED_BY): boolean => NEEDED_BY[name].some((one) => absent.includes(one));
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

optionsOf('npm run setup');
try {
  main();
} catch (error) {
  fail((error as Error).message);
}

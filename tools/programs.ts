import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

interface Needed {
  /** The Debian packages that contain it. */
  readonly packages: readonly string[];
  /** The Homebrew formulae that contain it. */
  readonly formulae?: readonly string[];
  /** Its names on `PATH`, the preferred one first. */
  readonly names: readonly string[];
  /** An environment variable that chooses another file. */
  readonly variable?: string;
  /** Whether the tests do without it: then `npm run setup` does not fail where it cannot be installed. */
  readonly optional?: true;
}

const NEEDED = {
  'redis-server': {
    packages: ['redis-server'],
    formulae: ['redis'],
    names: ['redis-server', 'valkey-server'],
    variable: 'REDIS_SERVER_BIN',
  },
  'nats-server': {
    packages: ['nats-server'],
    formulae: ['nats-server'],
    names: ['nats-server'],
    variable: 'NATS_SERVER_BIN',
  },
  postgres: { packages: ['postgresql'], formulae: ['postgresql@17'], names: ['postgres'], variable: 'POSTGRES_BIN' },
  libfaketime: { packages: ['libfaketime'], names: [] },
  openssl: { packages: ['openssl'], names: ['openssl'] },
  prometheus: { packages: ['prometheus'], formulae: ['prometheus'], names: ['prometheus'] },
  promtool: { packages: ['prometheus'], formulae: ['prometheus'], names: ['promtool'] },
  'prometheus-redis-exporter': {
    packages: ['prometheus-redis-exporter'],
    names: ['prometheus-redis-exporter', 'redis_exporter'],
  },
  chromium: {
    packages: ['chromium', 'fonts-dejavu-core'],
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    variable: 'CHROMIUM_BIN',
  },
  spin: { packages: ['spin'], names: ['spin'], optional: true },
  cc: { packages: ['gcc', 'libc6-dev'], names: ['cc', 'gcc'], optional: true },
} as const satisfies Readonly<Record<string, Needed>>;

/** A program that the tests run, or a library that they load. */
export type Program = keyof typeof NEEDED;

export const PROGRAMS = Object.keys(NEEDED) as readonly Program[];

/** What needs programs: each project of jest.config.js, and each command besides. All other commands need Node alone. */
export const NEEDED_BY = {
  unit: [],
  app: ['redis-server', 'postgres'],
  bypass: ['redis-server'],
  chaos: ['redis-server', 'libfaketime'],
  client: ['redis-server'],
  concurrency: ['redis-server', 'libfaketime'],
  conformance: ['redis-server'],
  consumers: [],
  contexts: ['redis-server', 'nats-server'],
  deploy: ['redis-server', 'prometheus', 'promtool', 'prometheus-redis-exporter'],
  docs: ['redis-server', 'openssl'],
  e2e: ['redis-server', 'libfaketime', 'openssl'],
  equivalence: ['redis-server'],
  exchanges: ['redis-server', 'openssl'],
  llm: [],
  memory: ['redis-server'],
  metrics: ['redis-server'],
  package: [],
  servers: ['redis-server'],
  simulate: ['redis-server'],
  spec: ['redis-server'],
  surge: ['redis-server'],
  'testing-kit': [],
  throttler: ['redis-server'],
  tools: ['redis-server'],
  trial: ['redis-server'],
  alone: ['redis-server', 'libfaketime', 'openssl', 'postgres'],
  'npm run test:browser': ['redis-server', 'chromium'],
  'npm run test:chaos': ['redis-server', 'libfaketime'],
  'npm run test:consumers': ['redis-server'],
  'npm run spec': ['spin', 'cc'],
  'npm run surge': ['redis-server'],
  'npm run trial': ['redis-server'],
  'npm run bench': ['redis-server'],
  'npm run site:bench': ['redis-server'],
} as const satisfies Readonly<Record<string, readonly Program[]>>;

/** Whether a name of `NEEDED_BY` is a project of Jest, and not a command. */
export function isProject(name: string): boolean {
  return /^[\w-]+$/.test(name);
}

/** How a program is called on `PATH`, and what else finds it. */
export function describeProgram(name: Program): string {
  const { names, variable }: Needed = NEEDED[name];
  if (name === 'libfaketime') return 'libfaketime.so.1 in a folder faketime below /usr/lib';
  return `${names.join(' or ')}${variable === undefined ? '' : ` (or ${variable}=<its path>)`}`;
}

/** Whether the tests do without a program. */
export function isOptional(name: Program): boolean {
  return (NEEDED[name] as Needed).optional === true;
}

/** The Debian packages of a program. */
export function packagesOf(name: Program): readonly string[] {
  return NEEDED[name].packages;
}

/** The Homebrew formulae of a program. */
export function formulaeOf(name: Program): readonly string[] {
  return (NEEDED[name] as Needed).formulae ?? [];
}

/** The programs that are missing. */
export function missingPrograms(names: readonly Program[] = PROGRAMS): Program[] {
  return names.filter((name) => findProgram(name) === undefined);
}

/**
 * The path of a program: the one that its environment variable names, else the first on `PATH`.
 *
 * @throws {Error} when the environment variable names no executable file
 */
export function findProgram(name: Program): string | undefined {
  if (name === 'libfaketime') return findFaketime();
  const { names, variable }: Needed = NEEDED[name];
  const chosen = variable === undefined ? undefined : process.env[variable];
  if (chosen) {
    const path = chosen.includes('/') ? fileAt(resolve(chosen), constants.X_OK) : onPath(chosen);
    // Falling back to another program would test something other than what was asked for.
    if (!path) throw oneLineError(`${variable} names ${chosen}, which is not an executable file`);
    return path;
  }
  for (const one of names) {
    const path = onPath(one);
    if (path) return path;
  }
  return name === 'postgres' ? findPostgres() : undefined;
}

/** @throws {Error} when the program is missing, with how to install it */
export function requireProgram(name: Program): string {
  const path = findProgram(name);
  if (path === undefined) throw missing([name]);
  return path;
}

/** @throws {Error} one for all programs that are missing, with how to install them */
export function requirePrograms(names: readonly Program[]): void {
  const absent = missingPrograms(names);
  if (absent.length > 0) throw missing(absent);
}

function missing(names: readonly Program[]): Error {
  const variables = names.flatMap((name) => {
    const { variable }: Needed = NEEDED[name];
    return variable === undefined ? [] : [variable];
  });
  const choice = variables.length === 0 ? '' : `, or set ${variables.join(' and ')}`;
  return oneLineError(`Not installed: ${names.join(', ')}. Run \`npm run setup\`${choice}`);
}

/** The executable file of this name, as a shell would find it. */
export function onPath(name: string): string | undefined {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = directory && fileAt(join(directory, name), constants.X_OK);
    if (path) return path;
  }
  return undefined;
}

function fileAt(path: string, mode: number): string | undefined {
  try {
    accessSync(path, mode);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

const LIBRARY_FOLDERS = ['/usr/lib', '/usr/lib64', '/usr/local/lib'];

/** Debian keeps it below the folder of the architecture. */
function findFaketime(): string | undefined {
  for (const folder of LIBRARY_FOLDERS) {
    for (const below of ['', ...namesIn(folder)]) {
      const path = fileAt(join(folder, below, 'faketime', 'libfaketime.so.1'), constants.R_OK);
      if (path) return path;
    }
  }
  return undefined;
}

const POSTGRES_FOLDERS = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt'];

/** Debian and Homebrew keep each version's programs in a folder of its own, and no server on `PATH`. */
function findPostgres(): string | undefined {
  for (const folder of POSTGRES_FOLDERS) {
    const versions = namesIn(folder).filter((name) => /^(?:postgresql@)?\d+$/.test(name));
    const newestFirst = versions.toSorted((a, b) => Number(b.replace(/.*@/, '')) - Number(a.replace(/.*@/, '')));
    const paths = newestFirst.map((version) => fileAt(join(folder, version, 'bin', 'postgres'), constants.X_OK));
    const found = paths.find((path) => path !== undefined);
    if (found) return found;
  }
  return undefined;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Jest prints the stack of an error of globalSetup. The stack does not help here. */
function oneLineError(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
// By their files: all of semver would be a third more of the schematic.
import intersects from 'semver/ranges/intersects.js';
import validRange from 'semver/ranges/valid.js';
import { textOf, type Tree } from './schematic.js';
import { around, installedIn } from './workspace.js';

const FILE = '/package.json';
const FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const;

/** The clients of Redis, and the version that a new application gets: the newest major of the peer range. */
export const CLIENTS = { ioredis: '^6.0.0', redis: '^6.0.0' } as const;

export type Client = keyof typeof CLIENTS;

/** Their peer ranges. */
const PEERS: Readonly<Record<Client, string>> = { ioredis: '^5.4.2 || ^6.0.0', redis: '^5.0.0 || ^6.0.0' };

/** The peer range of Nest. */
const NEST = '^11.1.4 || ^12.0.0';

/** The package that publishes metrics, and the version that an application gets that lacks it. */
export const METRICS = {
  'prom-client': { name: 'prom-client', version: '^15.0.0' },
  opentelemetry: { name: '@opentelemetry/api', version: '^1.9.0' },
} as const;

export type Metrics = keyof typeof METRICS;

type Manifest = Partial<Record<(typeof FIELDS)[number], Record<string, string>>>;

/** The application's package.json. */
export class PackageFile {
  private constructor(
    private readonly tree: Tree,
    private readonly text: string,
    private manifest: Manifest,
    /** On the disk, with what is installed. */
    private readonly folder: string,
  ) {}

  /** Undefined when there is none that can be read. */
  static of(tree: Tree, folder: string): PackageFile | undefined {
    const text = textOf(tree, FILE);
    if (text === undefined) return undefined;
    try {
      return new PackageFile(tree, text, JSON.parse(text) as Manifest, folder);
    } catch {
      return undefined;
    }
  }

  has(name: string): boolean {
    return this.versionOf(name) !== undefined;
  }

  /** Names the clients of Redis of which the application has a version that the package does not take; undefined when it has none. */
  get unfit(): string | undefined {
    const found = Object.entries(PEERS).flatMap(([name, wanted]) => this.outside(name, wanted) ?? []);
    return found.length === 0 ? undefined : found.join('; ');
  }

  /** Names a version of Nest that the package does not take; undefined where it does. */
  get unfitNest(): string | undefined {
    return this.outside('@nestjs/core', NEST);
  }

  /** A tag and a URL are not judged. */
  private outside(name: string, wanted: string): string | undefined {
    const version = this.versionOf(name);
    return version === undefined || meet(version, wanted)
      ? undefined
      : `${name} ${version}, and nestjs-floodgate needs ${name} ${wanted}`;
  }

  /**
   * The newest version of a client that fits the packages which the application has installed: npm refuses another one. Where none fits,
   * `against` names them.
   */
  versionFor(client: Client): { readonly version: string; readonly against: string | undefined } {
    const asking = FIELDS.flatMap((field) => Object.keys(this.manifest[field] ?? {})).flatMap((name) => {
      const range = installedIn(this.folder, name)?.manifest.peerDependencies?.[client];
      return range === undefined ? [] : [{ name, range }];
    });
    const newest = PEERS[client].split(' || ').toReversed();
    const fitting = newest.find((version) => asking.every(({ range }) => meet(version, range)));
    const against = asking.map(({ name, range }) => `${name} needs ${client} ${range}`).join(', ');
    return fitting === undefined
      ? { version: newest[0]!, against: `${against}, and nestjs-floodgate needs ${client} ${PEERS[client]}` }
      : { version: fitting, against: undefined };
  }

  private versionOf(name: string): string | undefined {
    return FIELDS.map((field) => this.manifest[field]?.[name]).find((version) => version !== undefined);
  }

  /** What the application measures with; OpenTelemetry where it has both. */
  get metrics(): Metrics | 'none' {
    const names = FIELDS.flatMap((field) => Object.keys(this.manifest[field] ?? {}));
    if (names.some((name) => /^@opentelemetry\/(?:api$|sdk-|auto-instrumentations-)/.test(name)))
      return 'opentelemetry';
    return names.includes('prom-client') ? 'prom-client' : 'none';
  }

  /** Adds a dependency in npm's order, and keeps the file's indent. */
  add(name: string, version: string): void {
    const all = { ...this.manifest.dependencies, [name]: version };
    const dependencies = Object.fromEntries(
      Object.entries(all).toSorted(([one], [other]) => one.localeCompare(other, 'en')),
    );
    const indent = /^[ \t]+/m.exec(this.text)?.[0] ?? '  ';
    this.manifest = { ...this.manifest, dependencies };
    const written = JSON.stringify(this.manifest, null, indent) + (this.text.endsWith('\n') ? '\n' : '');
    this.tree.overwrite(FILE, this.text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written);
  }

  /** The package manager of the project or of the workspace around it: by package.json, else by a lock file; undefined when none tells. */
  get manager(): string | undefined {
    const here = managerBy(this.text, (file) => this.tree.exists(`/${file}`));
    if (here !== undefined) return here;
    const outer = dirname(this.folder);
    for (const folder of outer === this.folder ? [] : around(outer)) {
      const path = join(folder, 'package.json');
      const text = existsSync(path) ? readFileSync(path, 'utf8') : '{}';
      const found = managerBy(text, (file) => existsSync(join(folder, file)));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

const LOCKS = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'package-lock.json': 'npm',
} as const;

function managerBy(manifest: string, has: (file: string) => boolean): string | undefined {
  const [, named] = /"packageManager"\s*:\s*"(npm|pnpm|yarn|bun)@/.exec(manifest) ?? [];
  return named ?? Object.entries(LOCKS).find(([file]) => has(file))?.[1];
}

/** Whether some version is within both ranges. What is no range is not judged. */
function meet(one: string, other: string): boolean {
  return validRange(one) === null || validRange(other) === null || intersects(one, other);
}

import { textOf, type Tree } from './schematic.js';
import { isOutside } from './versions.js';

const FILE = '/package.json';
const FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const;

/** The clients of Redis, and the version that a new application gets: the newest major of the peer range. */
export const CLIENTS = { ioredis: '^6.0.0', redis: '^6.0.0' } as const;

export type Client = keyof typeof CLIENTS;

/** Their peer ranges. */
const PEERS: Readonly<Record<Client, string>> = { ioredis: '^5.4.2 || ^6.0.0', redis: '^5.0.0 || ^6.0.0' };

/** The package that publishes metrics, and the version that an application gets that lacks it. */
export const METRICS = {
  'prom-client': { name: 'prom-client', version: '^15.0.0' },
  opentelemetry: { name: '@opentelemetry/api', version: '^1.9.0' },
} as const;

export type Metrics = keyof typeof METRICS;

interface Manifest extends Partial<Record<(typeof FIELDS)[number], Record<string, string>>> {
  readonly packageManager?: string;
}

/** The application's package.json. */
export class PackageFile {
  private constructor(
    private readonly tree: Tree,
    private readonly text: string,
    private manifest: Manifest,
  ) {}

  /** Undefined when there is none that can be read. */
  static of(tree: Tree): PackageFile | undefined {
    const text = textOf(tree, FILE);
    if (text === undefined) return undefined;
    try {
      return new PackageFile(tree, text, JSON.parse(text) as Manifest);
    } catch {
      return undefined;
    }
  }

  has(name: string): boolean {
    return this.versionOf(name) !== undefined;
  }

  /** Names the clients of Redis of which the application has a version that the package does not take; undefined when it has none. */
  get unfit(): string | undefined {
    const found = Object.entries(PEERS).flatMap(([name, wanted]) => {
      const version = this.versionOf(name);
      return version !== undefined && isOutside(version, wanted)
        ? [`${name} ${version}, and nestjs-floodgate needs ${name} ${wanted}`]
        : [];
    });
    return found.length === 0 ? undefined : found.join('; ');
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
    const written = JSON.stringify(this.manifest, null, indent);
    this.tree.overwrite(FILE, written + (this.text.endsWith('\n') ? '\n' : ''));
  }

  /** The package manager of the project: by its package.json, else by its lock file; undefined when neither tells. */
  get manager(): string | undefined {
    const [, named] = /^(npm|pnpm|yarn|bun)@/.exec(this.manifest.packageManager ?? '') ?? [];
    if (named !== undefined) return named;
    return Object.entries(LOCKS).find(([file]) => this.tree.exists(file))?.[1];
  }
}

const LOCKS = {
  '/pnpm-lock.yaml': 'pnpm',
  '/yarn.lock': 'yarn',
  '/bun.lock': 'bun',
  '/bun.lockb': 'bun',
  '/package-lock.json': 'npm',
} as const;

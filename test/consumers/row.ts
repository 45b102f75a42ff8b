/** The versions of Node that npm ships as packages: the oldest one of each line that a row runs on, and the newest of the last. */
export const NODES = { '20.18': '20.18.0', '20.19': '20.19.0', '22.12': '22.12.0', '24': '24' } as const;

/** The majors of Nest. */
export const MAJORS = ['11', '12'] as const;
/** What an application has of Nest. Those without it install the client alone, or the engine and a server. */
export const NESTS = [...MAJORS, 'none'] as const;

export type NodeLine = keyof typeof NODES;
export type Modules = 'commonjs' | 'esm';
export type Resolution = 'node10' | 'node16' | 'nodenext' | 'bundler';
export type Platform = 'express' | 'fastify';
export type Build = 'tsc' | 'swc' | 'webpack' | 'rspack' | 'esbuild';
export type Manager = 'npm' | 'pnpm' | 'yarn1' | 'yarn' | 'yarn-pnp';

/** The server of an application without Nest. Each value is a file in templates/server. */
export type ServerUse = 'express' | 'fastify' | 'hono';

/** How the application names its Redis. Each value is a file in templates/redis. */
export type RedisUse =
  'none' | 'url' | 'options' | 'client' | 'second-copy' | 'cluster' | 'iovalkey' | 'node-redis' | 'node-redis-cluster';

/** What publishes the metrics. */
export type MetricsUse = 'none' | 'prom-client' | 'opentelemetry';

/** One fresh application. */
export interface Row {
  /** For `--only`. */
  readonly name: string;
  /** What this row proves and no other one does. */
  readonly proves: string;
  /** The version of Nest: a major, whose newest version is installed, or an exact one. `none`: the client, or with `server` the engine. */
  readonly nest: '11' | '11.1.4' | '12' | 'none';
  readonly modules: Modules;
  /** Default: the Node that runs this. */
  readonly node?: NodeLine;
  /** Default: `nodenext`, as generated. */
  readonly resolution?: Resolution;
  /** Default: `express`. */
  readonly platform?: Platform;
  /** The server that the engine limits, without Nest. */
  readonly server?: ServerUse;
  /** Default: `tsc`. */
  readonly build?: Build;
  /** Whether the generated test runner runs a test of the application. */
  readonly tests?: boolean;
  /** Whether the types of packages are checked, the library's among them (`skipLibCheck: false`). */
  readonly libCheck?: boolean;
  /** Default: `none`. All others run two processes that share the limit. */
  readonly redis?: RedisUse;
  /** The version of ioredis, if it is installed. */
  readonly ioredis?: '5' | '5.4.2' | '6';
  /** The version of node-redis, if it is installed. */
  readonly nodeRedis?: '5' | '5.0.0' | '6';
  /** What serves the metrics. Each value is a file in templates/metrics. Default: `none`. */
  readonly metrics?: MetricsUse;
  /** Default: `npm`. */
  readonly manager?: Manager;
  /** Whether `nest add` installs the library, by its own questions. Otherwise its tarball is a dependency, and templates import it. */
  readonly added?: boolean;
  /** Whether the application lies in `apps/api` of an Nx workspace, with `added`. */
  readonly nx?: boolean;
  /** Whether TypeORM is installed, which takes some versions of ioredis alone. */
  readonly typeorm?: boolean;
  /** A folder of this repository, whose own test runs in place of a generated application. */
  readonly folder?: string;
  /** Whether `.ci/run` runs it. */
  readonly ci?: boolean;
}

/** A row with all choices made. */
export interface Choices
  extends
    Required<Omit<Row, 'node' | 'server' | 'ioredis' | 'nodeRedis' | 'folder'>>,
    Pick<Row, 'node' | 'server' | 'ioredis' | 'nodeRedis' | 'folder'> {
  readonly major: (typeof NESTS)[number];
}

/** Fills in the defaults. */
export function choicesOf(row: Row): Choices {
  return {
    resolution: 'nodenext',
    platform: 'express',
    build: 'tsc',
    tests: false,
    libCheck: false,
    redis: 'none',
    metrics: 'none',
    manager: 'npm',
    added: false,
    nx: false,
    typeorm: false,
    ci: false,
    ...row,
    major: row.nest === '11.1.4' ? '11' : row.nest,
  };
}

/** What became of a row. */
export interface Result {
  readonly row: Row;
  readonly seconds: number;
  /** The installed versions of what the row chooses, such as `@nestjs/core` and `node`. */
  readonly versions: Readonly<Record<string, string>>;
  /** The step that failed and its error; undefined when the row passed. */
  readonly failure: string | undefined;
  /** The output of its commands. */
  readonly log: string;
}

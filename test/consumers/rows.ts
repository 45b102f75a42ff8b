import type { Row } from './row.js';

const NEST_11 = { nest: '11', modules: 'commonjs' } as const;
const NEST_12 = { nest: '12', modules: 'esm' } as const;
/** An example says by its package.json what it is. The row names it for `--nest`, and for the report. */
const EXAMPLE = { ...NEST_12, ci: true } as const;
const ALONE = { nest: 'none', libCheck: true } as const;

/**
 * What each row proves and no other one does, and what it chooses. The rows are the applications that install the packed
 * library, the client or the engine alone, the examples, and a template that tests itself. They are no full product: each value of
 * each choice occurs, and most pairs of values that touch each other do.
 */
const TABLE: Readonly<Record<string, readonly [proves: string, choices: Omit<Row, 'name' | 'proves'>]>> = {
  'nest11-jest': [
    'what `nest new` generates for Nest 11, with its Jest (ts-jest, CommonJS)',
    { ...NEST_11, tests: true, ci: true },
  ],
  'nest11-floor': [
    'the oldest Nest and the oldest ioredis of the peer ranges, on the oldest Node',
    {
      ...NEST_11,
      nest: '11.1.4',
      node: '20.18',
      resolution: 'node16',
      platform: 'fastify',
      redis: 'url',
      ioredis: '5.4.2',
    },
  ],
  'nest11-bare': [
    'types that compile with `skipLibCheck: false`, without ioredis and prom-client',
    { ...NEST_11, node: '22.12', resolution: 'node16', libCheck: true },
  ],
  'nest11-webpack': [
    'one webpack bundle of all packages, without ioredis and prom-client',
    { ...NEST_11, node: '24', resolution: 'bundler', platform: 'fastify', build: 'webpack' },
  ],
  'nest11-swc': [
    'the SWC builder, with a client of ioredis 5',
    { ...NEST_11, node: '22.12', build: 'swc', redis: 'client', ioredis: '5' },
  ],
  'nest11-esbuild': [
    'one CommonJS file by esbuild on Node 20.18, without ioredis and prom-client',
    { ...NEST_11, node: '20.18', build: 'esbuild' },
  ],
  'nest11-yarn': [
    'Yarn 4 with node_modules, and the options of ioredis 5',
    { ...NEST_11, node: '20.19', redis: 'options', ioredis: '5', manager: 'yarn' },
  ],
  'nest11-pnp': [
    "Yarn's Plug'n'Play, which has no node_modules, with ioredis 5 by URL",
    { ...NEST_11, node: '22.12', redis: 'url', ioredis: '5', manager: 'yarn-pnp' },
  ],
  'nest11-cluster': [
    'a Cluster client of ioredis 5, under `moduleResolution: node10`',
    { ...NEST_11, node: '24', resolution: 'node10', redis: 'cluster', ioredis: '5' },
  ],
  'nest11-second-copy': [
    'a client of a second copy of ioredis, 5 beside 6, with `skipLibCheck: false`',
    {
      ...NEST_11,
      node: '20.19',
      resolution: 'bundler',
      build: 'swc',
      libCheck: true,
      redis: 'second-copy',
      ioredis: '6',
    },
  ],
  'nest11-otel': [
    "OpenTelemetry's newest SDK with CommonJS and Fastify, installed by pnpm",
    { ...NEST_11, node: '24', platform: 'fastify', metrics: 'opentelemetry', manager: 'pnpm' },
  ],
  'nest11-iovalkey': [
    'Yarn 1, and a client of iovalkey without ioredis',
    { ...NEST_11, node: '20.18', redis: 'iovalkey', metrics: 'prom-client', manager: 'yarn1' },
  ],
  'nest12-redis': [
    'two processes that share one limit, with ioredis 6 by URL',
    { ...NEST_12, redis: 'url', ioredis: '6', ci: true },
  ],
  // Nest 12 consists of ES modules: its Jest asks for the require of them that Node has from 24.9 on.
  'nest12-jest': [
    'what `nest new` generates for Nest 12 with CommonJS, with its Jest',
    { ...NEST_12, modules: 'commonjs', node: '24', tests: true },
  ],
  'nest12-fastify': [
    'Fastify with prom-client, and a client of ioredis 6',
    { ...NEST_12, node: '20.19', platform: 'fastify', redis: 'client', ioredis: '6', metrics: 'prom-client' },
  ],
  'nest12-ioredis5': [
    'the oldest ioredis of the peer range beside Nest 12, with `skipLibCheck: false`',
    { ...NEST_12, node: '24', libCheck: true, redis: 'options', ioredis: '5.4.2' },
  ],
  'nest12-cluster': ['a Cluster client of ioredis 6', { ...NEST_12, node: '22.12', redis: 'cluster', ioredis: '6' }],
  'nest12-second-copy': [
    'a client of a second copy of ioredis, 5 beside 6',
    { ...NEST_12, node: '20.18', platform: 'fastify', redis: 'second-copy', ioredis: '6' },
  ],
  'nest12-iovalkey': [
    'a client of iovalkey, without ioredis, from ES modules on Node 20.18',
    { ...NEST_12, node: '20.18', redis: 'iovalkey' },
  ],
  'nest11-node-redis': [
    'a client of the oldest node-redis of the peer range, without ioredis, under `moduleResolution: node10`',
    { ...NEST_11, node: '20.19', resolution: 'node10', redis: 'node-redis', nodeRedis: '5.0.0' },
  ],
  'nest11-node-redis-cluster': [
    'a createCluster of node-redis 5, with `skipLibCheck: false`',
    { ...NEST_11, node: '22.12', libCheck: true, redis: 'node-redis-cluster', nodeRedis: '5' },
  ],
  'nest12-node-redis': [
    'a client of node-redis 6, without ioredis, on Fastify',
    { ...NEST_12, platform: 'fastify', redis: 'node-redis', nodeRedis: '6' },
  ],
  'nest12-node-redis-url': [
    'a URL that node-redis 6 opens, because ioredis is not installed, in one file by esbuild',
    { ...NEST_12, node: '24', build: 'esbuild', redis: 'url', nodeRedis: '6' },
  ],
  'nest12-node-redis-cluster': [
    'a createCluster of node-redis 6 in CommonJS',
    { ...NEST_12, modules: 'commonjs', node: '24', redis: 'node-redis-cluster', nodeRedis: '6' },
  ],
  'nest12-rspack': [
    'the rspack builder, with ioredis 6 by URL',
    { ...NEST_12, node: '22.12', resolution: 'bundler', build: 'rspack', redis: 'url', ioredis: '6' },
  ],
  'nest12-swc': [
    'the SWC builder on Fastify, with Vitest',
    { ...NEST_12, node: '20.19', platform: 'fastify', build: 'swc', tests: true },
  ],
  'nest12-pnpm': [
    "pnpm's strict node_modules, with ioredis 6 by URL",
    { ...NEST_12, redis: 'url', ioredis: '6', manager: 'pnpm', ci: true },
  ],
  'nest12-pnp': [
    "Yarn's Plug'n'Play, which has no node_modules, from ES modules",
    { ...NEST_12, node: '22.12', redis: 'url', ioredis: '6', manager: 'yarn-pnp' },
  ],
  'nest12-yarn1': [
    'Yarn 1 with prom-client, on the newest Node',
    { ...NEST_12, node: '24', metrics: 'prom-client', manager: 'yarn1' },
  ],
  'nest11-add-pnpm': [
    '`nest add` by pnpm on Fastify, with ioredis',
    { ...NEST_11, platform: 'fastify', redis: 'url', ioredis: '6', manager: 'pnpm', added: true },
  ],
  'nest12-add': [
    '`nest add` by npm on Fastify, with ioredis, from ES modules',
    { ...NEST_12, platform: 'fastify', redis: 'url', ioredis: '6', added: true },
  ],
  'nest12-add-node-redis': [
    '`nest add` by pnpm for a team with node-redis and OpenTelemetry: its first 429, and its first metric',
    { ...NEST_12, redis: 'url', nodeRedis: '6', metrics: 'opentelemetry', manager: 'pnpm', added: true, ci: true },
  ],
  'nest11-neighbours': [
    "nestjs-cls, Passport's AuthGuard('jwt') in both orders, and a GraphQL formatter that masks what is no HttpException",
    { ...NEST_11, folder: 'test/consumers/templates/neighbours' },
  ],
  // Nx itself is 800 packages, and more than a minute: its nx.json and apps/api are what `nest add` reads.
  'nest11-add-nx': [
    '`nest add --project=api` in the layout of an Nx workspace, with the ioredis that TypeORM 0.3 takes',
    { ...NEST_11, redis: 'url', ioredis: '5', added: true, nx: true, typeorm: true },
  ],
  'example-sandbox': [
    'the example for a sandbox: it starts without Redis, and its page has limits',
    { ...EXAMPLE, folder: 'examples/sandbox' },
  ],
  'example-nest11-commonjs': [
    'the example of Nest 11 and CommonJS: a burst, and a login',
    { ...EXAMPLE, ...NEST_11, folder: 'examples/nest11-commonjs' },
  ],
  'example-nest12-esm-fastify': [
    'the example of Nest 12, ES modules and Fastify: plans, and a queue',
    { ...EXAMPLE, platform: 'fastify', folder: 'examples/nest12-esm-fastify' },
  ],
  'example-graphql-websockets': [
    'the example of GraphQL and WebSockets',
    { ...EXAMPLE, folder: 'examples/graphql-websockets' },
  ],
  'example-worker': ['the example of a worker without HTTP', { ...EXAMPLE, folder: 'examples/worker' }],
  'example-express-hono': [
    'the example without Nest: one limit of a service of Express and one of Hono',
    { ...EXAMPLE, nest: 'none', folder: 'examples/express-hono' },
  ],
  'client-esm': [
    'floodgate-client alone, from ES modules on Node 20.18',
    { ...ALONE, modules: 'esm', node: '20.18', ci: true },
  ],
  'client-node10': [
    'floodgate-client alone, from CommonJS under `moduleResolution: node10`, installed by Yarn 1',
    { ...ALONE, modules: 'commonjs', node: '20.19', resolution: 'node10', manager: 'yarn1' },
  ],
  'client-pnpm': [
    "floodgate-client alone, in pnpm's strict node_modules",
    { ...ALONE, modules: 'esm', node: '22.12', resolution: 'bundler', manager: 'pnpm' },
  ],
  'client-pnp': [
    "floodgate-client alone, from CommonJS under Yarn's Plug'n'Play",
    { ...ALONE, modules: 'commonjs', node: '24', resolution: 'node16', manager: 'yarn-pnp' },
  ],
  'engine-express': [
    'floodgate alone with Express 4, from CommonJS under `moduleResolution: node10` on Node 20.18',
    { ...ALONE, modules: 'commonjs', node: '20.18', resolution: 'node10', server: 'express' },
  ],
  'engine-fastify': [
    "floodgate alone with Fastify 5, from CommonJS in pnpm's strict node_modules",
    { ...ALONE, modules: 'commonjs', node: '22.12', server: 'fastify', manager: 'pnpm' },
  ],
  'engine-hono': [
    'floodgate alone with Hono, from ES modules',
    { ...ALONE, modules: 'esm', node: '24', resolution: 'bundler', server: 'hono' },
  ],
  // workerd is 120 MB, too much for each run of `.ci/run`: test/package/worker.spec.ts is there, which takes away what a Worker has not.
  'engine-workers': [
    'floodgate alone with Hono in workerd, the runtime of Cloudflare Workers',
    { ...ALONE, modules: 'esm', folder: 'test/consumers/templates/worker' },
  ],
};

export const ROWS: readonly Row[] = Object.entries(TABLE).map(([name, [proves, choices]]) => ({
  name,
  proves,
  ...choices,
}));

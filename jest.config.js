import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const rootDir = fileURLToPath(new URL('.', import.meta.url));
const isFolder = (name) => existsSync(`${rootDir}${name}`);

/** The folders whose specs stand beside the code and need nothing but Node. */
const UNIT = ['bench', 'libs', 'lua', 'src', 'surge', 'simulate', 'test/consumers'].filter(isFolder);

/** Of `npm run test:all` alone: each promise has a quicker test as well. */
const LONG = [
  'test/concurrency/prefetch.spec.ts',
  'test/faults/busy-loops.spec.ts',
  'test/faults/cluster-prefetch.spec.ts',
  'test/faults/many-overrides.spec.ts',
];

/**
 * Left out of `npm test` alone, which sets QUICK_TESTS=1: each took 7 seconds or more, and its promise has quicker specs as well.
 * A command that names one of them runs it.
 */
const BESIDES = [
  'test/app/admin',
  'test/app/boot',
  'test/app/client-gone',
  'test/app/control-room',
  'test/app/control-room-access',
  'test/app/control-room-overrides',
  'test/app/control-room-pods',
  'test/app/database',
  'test/app/database-processes',
  'test/app/docs',
  'test/app/exports',
  'test/app/limits',
  'test/app/many-clients',
  'test/app/many-connections',
  'test/app/shutdown',
  'test/app/summaries',
  'test/app/surge-worlds',
  'test/bypass/missing-identity',
  'test/client/crowd',
  'test/concurrency/blocks',
  'test/concurrency/expiring',
  'test/concurrency/leases',
  'test/concurrency/shards',
  'test/concurrency/virtual-prefetch',
  'test/conformance/seventh-algorithm',
  'test/contexts/federation',
  'test/contexts/one-decision',
  'test/deploy/prometheus',
  'test/deploy/redis',
  'test/e2e/admin/admin-texts',
  'test/e2e/decisions/user-functions',
  'test/e2e/redis/cluster',
  'test/e2e/redis/redis-words',
  'test/e2e/settling/open-charges',
  'test/e2e/settling/shadow-settled',
  'test/e2e/stories/monthly-quota',
  'test/e2e/stories/plans',
  'test/e2e/waiting/concurrency',
  'test/e2e/waiting/crowd',
  'test/exchanges/lost-addresses',
  'test/faults/cluster-nodes',
  'test/faults/first-answers',
  'test/faults/overrides',
  'test/faults/pod-clock',
  'test/faults/stalls',
  'test/memory/bounded',
  'test/metrics/cluster',
  'test/package/copies',
  'test/package/nest-add',
  'test/simulate/run',
  'test/support/faults/redis-cluster',
  'test/support/faults/redis-sentinel',
  'test/surge/surge',
  'test/testing-kit/docs',
  'test/testing-kit/runners',
  'test/throttler/command',
  'test/throttler/docs',
  'test/throttler/migrate',
  'test/throttler/migrate-shapes',
  'test/throttler/switch',
].map((name) => `${name}.spec.ts`);
const LEFT_OUT = process.env.QUICK_TESTS === '1' ? BESIDES : [];

/** The specs of test/app that measure real time. */
const PROCESSES = [
  'child-process',
  'client-gone',
  'control-room',
  'health',
  'limits',
  'many-clients',
  'many-connections',
  'matching',
  'matching-service',
  'metrics',
  'shutdown',
].map((name) => `test/app/${name}.spec.ts`);

/**
 * The folders of each project, and the file in test/support/setup that checks the programs which they need. A file that is named is
 * in no other project. Nothing runs beside the projects that are `timed`.
 */
const PROJECTS = {
  conformance: { folders: ['test/conformance', 'test/equivalence', 'test/simulate'], setup: 'redis' },
  http: {
    folders: [
      'test/bypass',
      'test/client',
      'test/contexts',
      'test/e2e',
      'test/exchanges',
      'test/metrics',
      'test/testing-kit',
      'test/throttler',
    ],
    setup: 'faults',
  },
  concurrency: { folders: ['test/chaos', 'test/concurrency', 'test/memory', 'tools'], setup: 'faults' },
  app: { folders: ['test/app', 'test/surge'], setup: 'app' },
  deploy: { folders: ['test/deploy'], setup: 'deploy' },
  docs: { folders: ['test/docs'], setup: 'redis' },
  package: { folders: ['test/package'], setup: 'package' },
  faults: { folders: ['test/faults', 'test/support'], setup: 'faults', timed: true },
  processes: { folders: PROCESSES, setup: 'app', timed: true },
  long: { folders: LONG, setup: 'long', timed: true },
};

/**
 * The specs that run a second time with node-redis, the other client of Redis: those whose outcome depends on the client. What they
 * give of ioredis becomes what an application with node-redis would give (test/support/node-redis).
 */
const NODE_REDIS = {
  'node-redis': {
    folders: [
      ...['blocks', 'by-node', 'concurrency', 'every-algorithm', 'expiry', 'headroom', 'refunds', 'settlements'].map(
        (name) => `test/conformance/${name}.spec.ts`,
      ),
      ...['override-log', 'report-board', 'reservation-log'].map((name) => `test/conformance/${name}.spec.ts`),
      ...['all-or-nothing', 'batches', 'by-node', 'one-truth', 'refund', 'script-flush', 'settle'].map(
        (name) => `test/equivalence/${name}.spec.ts`,
      ),
      ...['cluster', 'prefetch', 'redis-demoted'].map((name) => `test/e2e/redis/${name}.spec.ts`),
    ],
    setup: 'faults',
  },
  'node-redis-faults': {
    // `npm run test:node-redis` runs all of them.
    folders: [
      'acl',
      'cluster',
      'lost-data',
      'outage',
      'sentinel',
      'tls',
      'troubles',
      ...(process.env.EVERY_CLIENT === '1'
        ? [
            'cluster-by-node',
            'cluster-down',
            'cluster-nodes',
            'first-answers',
            'full-redis',
            'linearizable',
            'network',
            'never-twice',
            'overrides',
            'overrides-cluster',
            'replies',
            'schedule',
            'shutdown',
            'stalls',
          ]
        : []),
    ].map((name) => `test/faults/${name}.spec.ts`),
    setup: 'faults',
    timed: true,
  },
};
const AS_NODE_REDIS = {
  '^\\.\\./\\.\\./stores/redis/clients/open-redis\\.js$': '<rootDir>/test/support/node-redis/open-redis.ts',
  '^\\./clients/adapters\\.js$': '<rootDir>/test/support/node-redis/adapters.ts',
};

/** The projects beside which nothing runs, as they measure real time. */
export const TIMED = Object.entries({ ...PROJECTS, ...NODE_REDIS }).flatMap(([name, { timed }]) =>
  timed ? [name] : [],
);

/** Has a configuration of its own: it needs a browser and the built application. */
const BROWSER = 'test/browser';

expectProjectOfEach(readdirSync(`${rootDir}test`).map((name) => `test/${name}`));

function compiled({ decoratorMetadata }) {
  return [
    '@swc/jest',
    {
      jsc: {
        target: 'es2023',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata },
        keepClassNames: true,
      },
      module: { type: 'es6' },
      sourceMaps: 'inline',
    },
  ];
}

/** The files that are in a project by their names. */
const NAMED = [...LONG, ...PROCESSES].filter((path) => path.endsWith('.ts'));

/** What all projects share. */
export const base = {
  rootDir,
  roots: [...UNIT, 'test', 'tools'].map((name) => `<rootDir>/${name}`),
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  moduleNameMapper: {
    // The sources and not what npm links or a build has left.
    '^floodgate-client$': '<rootDir>/libs/client/src/index.ts',
    '^nestjs-floodgate$': '<rootDir>/libs/rate-limit/src/index.ts',
    '^nestjs-floodgate/(client|testing|throttler)$': '<rootDir>/libs/rate-limit/src/$1/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    // As the package is built: Nest finds no types of the library's parameters.
    '/libs/rate-limit/src/(?!.*\\.spec\\.ts$).*\\.ts$': compiled({ decoratorMetadata: false }),
    '\\.ts$': compiled({ decoratorMetadata: true }),
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/libs/[^/]+/dist'],
};

export default {
  // Jest does not free the ES modules of the files that it has run: one process for all of them runs out of memory. With a limit
  // Jest runs even a single worker as a process of its own, and replaces it between two files.
  workerIdleMemoryLimit: '1GB',
  // A test that waits for something says how long. This is for a busy machine.
  testTimeout: 30_000,
  projects: [
    { ...base, displayName: 'unit', testMatch: specsIn(UNIT) },
    ...Object.entries(NODE_REDIS).map(([displayName, { folders, setup }]) => ({
      ...base,
      displayName,
      moduleNameMapper: { ...AS_NODE_REDIS, ...base.moduleNameMapper },
      setupFiles: ['<rootDir>/test/support/node-redis/setup.js'],
      testMatch: specsIn(folders),
      testPathIgnorePatterns: LEFT_OUT.map((file) => `<rootDir>/${file}`),
      globalSetup: `<rootDir>/test/support/setup/${setup}.js`,
    })),
    ...Object.entries(PROJECTS).map(([displayName, { folders, setup }]) => ({
      ...base,
      displayName,
      testMatch: specsIn(folders),
      testPathIgnorePatterns: [...NAMED.filter((file) => !folders.includes(file)), ...LEFT_OUT].map(
        (file) => `<rootDir>/${file}`,
      ),
      globalSetup: `<rootDir>/test/support/setup/${setup}.js`,
    })),
  ],
};

export function specsIn(folders) {
  return folders.map((path) => `<rootDir>/${path}${path.endsWith('.ts') ? '' : '/**/*.spec.ts'}`);
}

/** A folder that belongs to no project would never be run. */
function expectProjectOfEach(entries) {
  const known = [BROWSER, ...UNIT, ...Object.values(PROJECTS).flatMap(({ folders }) => folders)];
  const forgotten = entries.filter((entry) => !known.includes(entry));
  if (forgotten.length > 0) throw new Error(`jest.config.js: no project contains ${forgotten.join(', ')}`);
}

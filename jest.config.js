import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const rootDir = fileURLToPath(new URL('.', import.meta.url));
const isFolder = (name) => existsSync(`${rootDir}${name}`);

/** The folders whose specs stand beside the code and need nothing but Node. */
const UNIT = ['libs', 'lua', 'src', 'surge', 'simulate', 'test/consumers'].filter(isFolder);

/** The folders of each project, and the file in test/support/setup that checks the programs which they need. */
const PROJECTS = {
  conformance: { folders: ['test/conformance', 'test/equivalence', 'test/simulate'], setup: 'redis' },
  http: {
    folders: [
      'test/bypass',
      'test/client',
      'test/contexts',
      'test/e2e',
      'test/metrics',
      'test/testing-kit',
      'test/throttler',
    ],
    setup: 'faults',
  },
  faults: {
    folders: ['test/chaos', 'test/concurrency', 'test/faults', 'test/memory', 'test/support', 'tools'],
    setup: 'faults',
  },
  app: { folders: ['test/app', 'test/surge'], setup: 'app' },
  deploy: { folders: ['test/deploy'], setup: 'deploy' },
  docs: { folders: ['test/docs'], setup: 'redis' },
  package: { folders: ['test/package'], setup: 'package' },
};

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

/** What all projects share. */
export const base = {
  rootDir,
  roots: [...UNIT, 'test', 'tools'].map((name) => `<rootDir>/${name}`),
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  moduleNameMapper: {
    // The sources and not what npm links or a build has left.
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
  projects: [
    { ...base, displayName: 'unit', testMatch: specsIn(UNIT) },
    ...Object.entries(PROJECTS).map(([displayName, { folders, setup }]) => ({
      ...base,
      displayName,
      testMatch: specsIn(folders),
      globalSetup: `<rootDir>/test/support/setup/${setup}.js`,
    })),
  ],
};

export function specsIn(folders) {
  return folders.map((folder) => `<rootDir>/${folder}/**/*.spec.ts`);
}

/** A folder that belongs to no project would never be run. */
function expectProjectOfEach(entries) {
  const known = [BROWSER, ...UNIT, ...Object.values(PROJECTS).flatMap(({ folders }) => folders)];
  const forgotten = entries.filter((entry) => !known.includes(entry));
  if (forgotten.length > 0) throw new Error(`jest.config.js: no project contains ${forgotten.join(', ')}`);
}

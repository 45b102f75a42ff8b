import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// A file says by its folder and its name when it runs: test/README.md.
const rootDir = fileURLToPath(new URL('.', import.meta.url));

/** The folders whose specs stand beside the code and need nothing but Node. */
const BESIDE_CODE = ['bench', 'demo', 'lab', 'libs', 'lua', 'src', 'simulate'];

/** Nothing runs beside these specs: they measure real time. */
const ALONE = ['/test/faults/', '\\.alone\\.'];

/** `npm test` sets QUICK_TESTS=1. A command that names a long spec runs it. */
const LEFT_OUT = process.env.QUICK_TESTS === '1' ? ['\\.long\\.'] : [];

/** With TEST_REDIS_CLIENT=redis the specs whose outcome depends on the client of Redis run with node-redis. */
const CLIENTS = process.env.TEST_REDIS_CLIENT === 'redis' ? '\\.clients' : '';

/** What all projects share: specs run as native ES modules, with the TypeScript loader, and share what their worker has loaded. */
export const base = {
  rootDir,
  testEnvironment: '<rootDir>/test/support/jest/environment.js',
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/jest/setup.ts'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  transform: {},
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/libs/[^/]+/dist'],
};

/**
 * @param {string} displayName of a row of NEEDED_BY in tools/programs.ts: `globalSetup` checks the programs that it needs
 * @param {string[]} folders
 */
export function project(displayName, folders, testPathIgnorePatterns = [...ALONE, ...LEFT_OUT]) {
  return {
    ...base,
    displayName,
    roots: folders.map((folder) => `<rootDir>/${folder}`),
    testRegex: [`${CLIENTS}(\\.\\w+)*\\.spec\\.ts$`],
    testPathIgnorePatterns: ['/node_modules/', ...testPathIgnorePatterns],
    globalSetup: `<rootDir>/test/support/setup/${displayName === 'package' ? 'package' : 'programs'}.js`,
  };
}

/** Has a configuration of its own: it needs a browser and the built application. */
const BROWSER = 'browser';
const FOLDERS = readdirSync(`${rootDir}test`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== BROWSER && hasSpecs(entry.name))
  .map(({ name }) => name);

export default {
  // A worker keeps the modules of all files that it has run. Jest replaces it between two files when it is larger.
  workerIdleMemoryLimit: '1GB',
  // Ends a test that hangs, and judges none: what waits says how long. A busy machine takes many times as long as a quiet one.
  testTimeout: 120_000,
  projects: [
    project('unit', BESIDE_CODE),
    ...FOLDERS.filter((name) => name !== 'faults').map((name) => project(name, [`test/${name}`])),
    {
      ...project(
        'alone',
        FOLDERS.map((name) => `test/${name}`),
        LEFT_OUT,
      ),
      testRegex: [`/test/faults/.*${CLIENTS}(\\.\\w+)*\\.spec\\.ts$`, `${CLIENTS}\\.alone(\\.\\w+)*\\.spec\\.ts$`],
    },
  ],
};

function hasSpecs(folder) {
  return readdirSync(`${rootDir}test/${folder}`, { recursive: true }).some((name) => name.endsWith('.spec.ts'));
}

import { readFileSync } from 'node:fs';

const { jest } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** As all other tests, but for what a browser needs. */
export default {
  ...jest,
  rootDir: '../..',
  roots: ['<rootDir>/test/browser'],
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/browser/support/ensure-chromium.ts',
  testTimeout: 60_000,
  // A browser and the process that it looks at are enough for a small machine.
  maxWorkers: 1,
};

import { join } from 'node:path';
import { base } from '../../jest.config.js';

/** The specs that should kill a mutant in seconds: those beside the code, and the tables of instants. */
export default {
  ...base,
  testTimeout: 30_000,
  runner: join(import.meta.dirname, 'runner.js'),
  testEnvironment: join(import.meta.dirname, 'environment.js'),
  roots: [
    ...['algorithms', 'policy', 'stores', 'engine', 'charges', 'layers', 'holds', 'scheduling'].map(
      (folder) => `<rootDir>/libs/rate-limit/src/${folder}`,
    ),
    '<rootDir>/test/conformance',
  ],
  testRegex: ['(?<!\\.long)\\.spec\\.ts$'],
};

import { join } from 'node:path';
import { base } from '../../jest.config.js';

const CODE = ['algorithms', 'policy', 'stores', 'engine', 'charges', 'layers', 'holds', 'scheduling'];
const CALLS = ['conformance', 'equivalence', 'e2e/decisions', 'e2e/limiter', 'e2e/settling', 'e2e/waiting'];

/** What should kill a mutant in seconds: the specs beside the code, and what calls it. The runner takes the quickest that reach it. */
export default {
  ...base,
  testTimeout: 30_000,
  runner: join(import.meta.dirname, 'runner.js'),
  testEnvironment: join(import.meta.dirname, 'environment.js'),
  roots: [
    ...CODE.map((folder) => `<rootDir>/libs/floodgate/src/${folder}`),
    ...CALLS.map((folder) => `<rootDir>/test/${folder}`),
  ],
  testRegex: ['(?<!\\.long)\\.spec\\.ts$'],
};

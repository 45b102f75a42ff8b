import { join } from 'node:path';
import { base } from '../../jest.config.js';

/** The histories and the calls that take about a second, and reach the arithmetic, the judge or the engine. */
const QUICK = {
  equivalence:
    'any-row|calendar-windows|escalating-blocks|kept-charges|leases|open-charges|prefetch-bucket|settle|settled-states|shares',
  'e2e/decisions': 'blocks|cost|else|handler-decision|on-decision|priorities',
  'e2e/limiter': 'alone|consume-sync|limiter-methods|limiter-warnings|policy-names|rate-limiter|reservations',
  'e2e/redis': 'else',
  'e2e/settling': 'refunded-slots|settled-routes',
  'e2e/waiting': 'concurrency',
};

/** The specs that should kill a mutant in seconds: those beside the code, the tables of instants, and the quick ones. */
export default {
  ...base,
  testTimeout: 30_000,
  runner: join(import.meta.dirname, 'runner.js'),
  testEnvironment: join(import.meta.dirname, 'environment.js'),
  roots: [
    ...['algorithms', 'policy', 'stores', 'engine', 'charges', 'layers', 'holds', 'scheduling'].map(
      (folder) => `<rootDir>/libs/rate-limit/src/${folder}`,
    ),
    ...['conformance', ...Object.keys(QUICK)].map((folder) => `<rootDir>/test/${folder}`),
  ],
  testRegex: [
    '/(libs/rate-limit|test/conformance)/.*(?<!\\.long)\\.spec\\.ts$',
    ...Object.entries(QUICK).map(([folder, names]) => `/test/${folder}/(${names})(\\.clients)?\\.spec\\.ts$`),
  ],
};

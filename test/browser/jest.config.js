import { base, specsIn } from '../../jest.config.js';

/** The control room in a real browser, on the built application: `npm run test:browser`. */
export default {
  ...base,
  testMatch: specsIn(['test/browser']),
  globalSetup: '<rootDir>/test/support/setup/browser.js',
  testTimeout: 60_000,
  // One browser and one application are enough for a small machine.
  maxWorkers: 1,
};

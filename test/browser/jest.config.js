import { base, specsIn } from '../../jest.config.js';

/** The specs that measure real time, and the one that builds the application: nothing runs beside them. */
const ALONE = ['hero', 'page', 'playground-files', 'pods', 'story'].map((name) => `test/browser/${name}.spec.ts`);

const common = { ...base, globalSetup: '<rootDir>/test/support/setup/browser.js' };

/** The control room, the site and the playground in a real browser, on the built application: `npm run test:browser`. */
export default {
  testTimeout: 60_000,
  // One browser and one application are enough for a small machine. `npm run test:all` runs more of the pages side by side.
  maxWorkers: 1,
  projects: [
    {
      ...common,
      displayName: 'pages',
      testMatch: specsIn(['test/browser']),
      testPathIgnorePatterns: ALONE.map((file) => `<rootDir>/${file}`),
    },
    { ...common, displayName: 'alone', testMatch: specsIn(ALONE) },
  ],
};

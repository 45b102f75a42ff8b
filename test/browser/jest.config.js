import { project } from '../../jest.config.js';

const globalSetup = '<rootDir>/test/support/setup/browser.js';
const SITE = 'test/browser/site';

/** The control room, the site and the playground in a real browser, on the built application: `npm run test:browser`. */
export default {
  testTimeout: 120_000,
  // One browser and one application are enough for a small machine. `npm run test:all` runs more of the pages side by side.
  maxWorkers: 1,
  projects: [
    { ...project('pages', ['test/browser'], ['\\.alone\\.', `/${SITE}/`]), globalSetup },
    { ...project('site', [SITE], []), globalSetup: '<rootDir>/test/support/setup/site.js' },
    { ...project('pages-alone', ['test/browser'], []), globalSetup, testRegex: ['\\.alone\\.spec\\.ts$'] },
  ],
};

// `npm run test:mutation`: changes the code in small ways, and asks that a test fails of each. `-- --mutate <glob>` chooses files.
const LIBRARY = 'libs/floodgate/src';

export default {
  mutate: [
    ...['algorithms', 'policy', 'stores/memory', 'engine', 'charges', 'layers', 'holds', 'scheduling'].map(
      (folder) => `${LIBRARY}/${folder}/**/*.ts`,
    ),
    `${LIBRARY}/stores/judge.ts`,
    '!**/*.spec.ts',
  ],
  mutator: { excludedMutations: ['StringLiteral'] },
  testRunner: 'jest',
  jest: { configFile: 'test/mutation/jest.config.js', enableFindRelatedTests: false },
  testRunnerNodeArgs: ['--experimental-vm-modules', '--import', './test/support/typescript-loader.js'],
  // A process evaluates the code once: what happens then cannot be mutated afterwards.
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // Of all tests that reach a mutant, of which the runner takes those of a few seconds.
  timeoutFactor: 0.5,
  // A busy machine.
  dryRunTimeoutMinutes: 15,
  // A process keeps the specs of each run.
  maxTestRunnerReuse: 50,
  // Its comment would change the generated module.
  disableTypeChecks: false,
  reporters: ['clear-text', 'progress', 'json'],
  jsonReporter: { fileName: 'test/mutation/report.json' },
  clearTextReporter: { allowColor: false, logTests: false },
  tempDirName: '.stryker-tmp',
  ignorePatterns: ['dist', 'site', 'examples', 'deploy', 'libs/*/dist', 'test/browser', '.stryker-tmp'],
};

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// An import has another shape where Stryker loads it.
const { default: JestRunner } = createRequire(import.meta.url)('jest-runner');

/** A mutant that no test kills within this time counts as alive. The quickest spec that reaches it runs, however long it takes. */
const MOST_MS = 8_000;

/**
 * Runs the specs that have a test which reaches the mutant, the quickest first. Stryker asks for tests by their names, of all files,
 * and Jest would prepare each file to find that it has none.
 */
export default class MutationRunner extends JestRunner {
  async runTests(tests, watcher, options) {
    const asked = this._globalConfig.testNamePattern; // oxlint-disable-line no-underscore-dangle -- Jest's name
    if (!asked) return super.runTests(tests, watcher, options);
    // The pattern is a list of escaped names in parentheses.
    const names = new Set(asked.slice(1, -1).split(')|('));
    const reaching = tests.flatMap((test) => {
      const file = namesFile(test.path);
      const own = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
      const reached = own.filter(({ name }) => names.has(escaped(name)));
      return reached.length === 0 ? [] : [{ test, ms: reached.reduce((sum, { ms }) => sum + ms, 0) }];
    });
    reaching.sort((a, b) => a.ms - b.ms);
    let total = 0;
    const quickest = reaching.filter(({ ms }, i) => (total += ms) <= MOST_MS || i === 0);
    return super.runTests(
      quickest.map(({ test }) => test),
      watcher,
      options,
    );
  }
}

/** Where the first run leaves the names and milliseconds of a spec's tests: beside it, in Stryker's copy of the repository. */
export function namesFile(spec) {
  return `${spec}.names.json`;
}

function escaped(name) {
  return name.replaceAll(/[.*+\-?^${}()|[\]\\]/g, String.raw`\$&`);
}

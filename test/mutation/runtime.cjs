const { existsSync, readFileSync } = require('node:fs');
const NativeRuntime = require('../support/jest/runtime.cjs');

/** Loads no spec without a test that reaches the mutant: Stryker asks for those by their names, of all files. */
module.exports = class MutationRuntime extends NativeRuntime {
  #asked;

  constructor(...args) {
    super(...args);
    const { testNamePattern } = args.at(-1);
    this.#asked = testNamePattern && new RegExp(testNamePattern, 'i');
  }

  async unstable_importModule(path) {
    const file = `${path}.names.json`;
    const reaches = (name) => this.#asked.test(name);
    if (this.#asked && existsSync(file) && !JSON.parse(readFileSync(file, 'utf8')).some(reaches)) {
      globalThis.it.skip('does not reach the mutant', () => {});
      return;
    }
    await super.unstable_importModule(path);
  }
};

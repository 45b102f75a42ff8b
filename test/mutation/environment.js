import { existsSync, writeFileSync } from 'node:fs';
import NativeEnvironment from '../support/jest/environment.js';
import { namesFile } from './runner.js';

/** Activates the mutant that Stryker names: its own environment expects that each run evaluates the code anew. */
export default class MutationEnvironment extends NativeEnvironment {
  #namesFile;

  constructor(config, context) {
    super(config, context);
    this.#namesFile = namesFile(context.testPath);
  }

  async setup() {
    await super.setup();
    globalThis['__stryker__'].activeMutant = process.env['__STRYKER_ACTIVE_MUTANT__'];
  }

  handleTestEvent({ name }, { rootDescribeBlock }) {
    if (name !== 'run_finish' || existsSync(this.#namesFile)) return;
    writeFileSync(this.#namesFile, JSON.stringify(testsOf(rootDescribeBlock, [])));
  }
}

function testsOf({ children }, path) {
  return children.flatMap((child) => {
    const names = [...path, child.name];
    return child.type === 'test' ? [{ name: names.join(' '), ms: child.duration ?? 0 }] : testsOf(child, names);
  });
}

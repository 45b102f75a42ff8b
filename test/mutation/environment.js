import { existsSync, writeFileSync } from 'node:fs';
import NativeEnvironment from '../support/jest/environment.js';

/** Activates the mutant that Stryker names: its own environment expects that each run evaluates the code anew. */
export default class MutationEnvironment extends NativeEnvironment {
  #namesFile;

  constructor(config, context) {
    super(config, context);
    this.#namesFile = `${context.testPath}.names.json`;
  }

  async setup() {
    await super.setup();
    globalThis['__stryker__'].activeMutant = process.env['__STRYKER_ACTIVE_MUTANT__'];
  }

  /** The first run, in Stryker's copy of the repository, leaves the names of a file's tests beside it: runtime.cjs reads them. */
  handleTestEvent({ name }, { rootDescribeBlock }) {
    if (name !== 'run_start' || existsSync(this.#namesFile)) return;
    writeFileSync(this.#namesFile, JSON.stringify(namesOf(rootDescribeBlock, [])));
  }
}

function namesOf({ children }, path) {
  return children.flatMap((child) => {
    const names = [...path, child.name];
    return child.type === 'test' ? [names.join(' ')] : namesOf(child, names);
  });
}

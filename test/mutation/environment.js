import NativeEnvironment from '../support/jest/environment.js';

/** Activates the mutant that Stryker names: its own environment expects that each run evaluates the code anew. */
export default class MutationEnvironment extends NativeEnvironment {
  async setup() {
    await super.setup();
    globalThis['__stryker__'].activeMutant = process.env['__STRYKER_ACTIVE_MUTANT__'];
  }
}

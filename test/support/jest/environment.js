import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

// Node loads what is behind `fetch` with its first use. It would keep the fake timers of a spec that is the first one.
void globalThis.Response;

/**
 * A test environment of Jest without a VM context: specs share the realm, the modules and the globals of their worker process.
 * After each spec it restores what specs change: mocks, timers, environment variables and some globals.
 */
export default class NativeEnvironment {
  global = globalThis;
  #variables = { ...process.env };
  // Jest wraps `exit` once for each spec, and `@hono/node-server` has a Request and a Response of its own.
  #replaced = [
    [process, 'exit'],
    [globalThis, 'Request'],
    [globalThis, 'Response'],
  ].map(([owner, name]) => [owner, name, Object.getOwnPropertyDescriptor(owner, name)]);

  constructor({ projectConfig }) {
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) delete process.env[name];
    Object.assign(process.env, this.#variables);
    for (const [owner, name, descriptor] of this.#replaced) Object.defineProperty(owner, name, descriptor);
  }

  getVmContext() {
    return null;
  }
}

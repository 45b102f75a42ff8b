// The `runtime` of Jest's configuration: what jest-circus needs of jest-runtime, without its module registry. Jest's own runtime
// evaluates Nest and the library anew for each spec; Node's loader evaluates them once for each worker.
const { promises: promiseTimers, ...callbackTimers } = require('node:timers');
const { pathToFileURL } = require('node:url');

/** Jest's fake timers replace the members of modules, too, and what is loaded meanwhile would keep the faked ones. */
const REAL_TIMERS = [
  ['node:timers', callbackTimers],
  ['node:timers/promises', { ...promiseTimers }],
];

const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** How often this process has run a file. */
const runs = new Map();

class NativeRuntime {
  #environment;

  constructor(_config, environment) {
    this.#environment = environment;
  }

  /** Loads jest-circus, whose state belongs to one spec. */
  requireInternalModule(path) {
    delete globalThis[EVENT_HANDLERS];
    delete globalThis[TEST_TIMEOUT];
    // Jest's mapping of stacks knows what Jest has compiled. Node's knows these modules.
    delete Error.prepareStackTrace;
    delete require.cache[path];
    return require(path);
  }

  setGlobalsForRuntime() {
    globalThis.jest = jestObject(this.#environment);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    const before = runs.get(path) ?? 0;
    runs.set(path, before + 1);
    // With a query the module is another one: it declares its tests again.
    await import(pathToFileURL(path).href + (before === 0 ? '' : `?${before}`));
  }

  requireModule(path) {
    return require(path);
  }

  getSourceMaps() {
    return new Map();
  }

  getAllCoverageInfoCopy() {}

  enterTestCode() {}

  leaveTestCode() {}

  teardown() {}
}

/** The members of `jest` that do not need its module registry. */
function jestObject({ moduleMocker, fakeTimersModern }) {
  const timers = [
    'advanceTimersByTime',
    'advanceTimersByTimeAsync',
    'advanceTimersToNextTimerAsync',
    'clearAllTimers',
    'getRealSystemTime',
    'getTimerCount',
    'now',
    'runAllTimers',
    'runAllTimersAsync',
    'runOnlyPendingTimersAsync',
    'setSystemTime',
  ];
  const mocks = ['clearAllMocks', 'fn', 'isMockFunction', 'mocked', 'replaceProperty', 'restoreAllMocks', 'spyOn'];
  const bound = (target, names) => Object.fromEntries(names.map((name) => [name, target[name].bind(target)]));
  const jest = {
    ...bound(moduleMocker, mocks),
    ...bound(fakeTimersModern, timers),
    setTimeout: (ms) => {
      globalThis[TEST_TIMEOUT] = ms;
      return jest;
    },
    useFakeTimers: (options) => {
      fakeTimersModern.useFakeTimers(options);
      for (const [module, members] of REAL_TIMERS) Object.assign(require(module), members);
      return jest;
    },
    useRealTimers: () => {
      fakeTimersModern.useRealTimers();
      return jest;
    },
  };
  return jest;
}

module.exports = NativeRuntime;

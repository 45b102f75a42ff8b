// `@jest/globals` for native modules. A module may outlive a spec in its worker: each call goes to the spec that runs.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, it, test, jest } = new Proxy(
  {},
  { get: (_, name) => current(name) },
);

export const expect = globalThis.expect;

function current(name) {
  return new Proxy(() => undefined, {
    apply: (_target, _self, args) => globalThis[name](...args),
    get: (_target, property) => globalThis[name][property],
  });
}

/** What a function of an application may do, beside what it should. */
export interface Behaviour {
  /** `'unreadable'`: it returns what throws where somebody looks at it. */
  readonly does: 'right' | 'throws' | 'hangs' | 'nonsense' | 'unreadable';
  /** Such as `rejects with null`. */
  readonly title: string;
  /** Makes the function of one that does right. */
  readonly made: (right: (...args: never[]) => unknown) => (...args: never[]) => unknown;
}

type Any = (...args: never[]) => unknown;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Fails whoever looks at it. */
function untouchable(): object {
  const fail = (): never => {
    throw new Error('do not touch');
  };
  return new Proxy({}, { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail, getOwnPropertyDescriptor: fail });
}

function withGetter(name: string): Error {
  return Object.defineProperty(new Error('gone'), name, {
    get: () => {
      throw new Error(`do not read ${name}`);
    },
  });
}

/** What can be thrown. */
const THROWN: readonly (readonly [string, () => unknown])[] = [
  ['an error', () => new Error('gone')],
  ['an error whose message throws', () => withGetter('message')],
  ['an error whose stack throws', () => withGetter('stack')],
  ['an error whose message is a symbol', () => Object.assign(new Error('gone'), { message: Symbol('gone') })],
  [
    'an object whose toString throws',
    () => ({
      toString: () => {
        throw new Error('do not print');
      },
    }),
  ],
  ['an object without a prototype', () => Object.create(null) as unknown],
  ['a proxy that throws', untouchable],
  ['a revoked proxy', revoked],
  ['a symbol', () => Symbol('gone')],
  ['null', () => null],
  ['undefined', () => undefined],
];

/** Later than all deadlines that a step of a guard has. */
export const LATE_MS = 150;

/** The least that `await` takes. */
export function thenable(then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void): unknown {
  // oxlint-disable-next-line unicorn/no-thenable -- this is what some libraries return in place of a promise
  return { then: (resolve: never, reject: never) => then(resolve, reject) };
}

const never = (): Promise<never> => new Promise(() => undefined);
const fail = (thrown: unknown): never => {
  throw thrown;
};

/** What no function should return. Nothing (`undefined`) may be an answer. */
const NONSENSE: readonly (readonly [string, () => unknown])[] = [
  ['a revoked proxy', revoked],
  ['a proxy that throws', untouchable],
  ['a symbol', () => Symbol('nonsense')],
  ['NaN', () => NaN],
  ['a function', () => () => 1],
  ['an array', () => []],
];

/** Where a function must not return a promise, `'right'` has those that do not. */
export const AT_ONCE: readonly Behaviour[] = [
  { does: 'right', title: 'answers at once', made: (right) => right },
  ...THROWN.map(([what, value]) => ({
    does: 'throws' as const,
    title: `throws ${what}`,
    made: (): Any => () => fail(value()),
  })),
  ...NONSENSE.map(([what, value]) => ({
    does: what.includes('proxy') ? ('unreadable' as const) : ('nonsense' as const),
    title: `returns ${what}`,
    made: () => value,
  })),
];

export const LATER: readonly Behaviour[] = [
  {
    does: 'right',
    title: 'answers with a promise',
    made:
      (right) =>
      async (...args) =>
        right(...args),
  },
  {
    does: 'right',
    title: 'answers with the least of a promise',
    made:
      (right) =>
      (...args) =>
        thenable((resolve, reject) => setImmediate(() => void (async () => right(...args))().then(resolve, reject))),
  },
  ...THROWN.map(([what, value]) => ({
    does: 'throws' as const,
    title: `rejects with ${what}`,
    made: (): Any => () => Promise.reject(value()),
  })),
  {
    does: 'throws',
    title: 'returns an object whose then throws',
    made: () => () => thenable(() => fail(new Error('gone'))),
  },
  { does: 'hangs', title: 'never settles', made: () => never },
  {
    does: 'hangs',
    title: 'answers with a promise that never settles, from the least of a promise',
    made: () => () => thenable((resolve) => resolve(never())),
  },
  {
    does: 'hangs',
    title: 'rejects after its deadline with an error whose message throws',
    made: () => () => new Promise((_, reject) => setTimeout(() => reject(withGetter('message')), LATE_MS)),
  },
  // A promise cannot be resolved with a proxy that throws: it rejects.
  ...NONSENSE.filter(([what]) => !what.includes('proxy')).map(([what, value]) => ({
    does: 'nonsense' as const,
    title: `answers with a promise of ${what}`,
    made: (): Any => () => Promise.resolve(value()),
  })),
];

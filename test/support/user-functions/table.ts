/** One function that an application gives to the library. docs/failures.md has the same texts. */
export interface UserFunction {
  /** Where it is given. */
  readonly of: string;
  /** The place of the request among its arguments; the context comes behind it. Default: it gets no request. */
  readonly request?: number;
  /** Whether it may answer with a promise: `'not awaited'`, it may, and nothing waits for it. */
  readonly promise: 'yes' | 'no' | 'not awaited';
  /** What happens when it throws or rejects. */
  readonly fails: string;
  /** What happens when it does not settle within `deadline`. Default as `fails`. */
  readonly hangs?: string;
  /** What happens when it returns what it should not. Default as `fails`. */
  readonly nonsense?: string;
}

const COUNTED = 'it counts';
const STAYS = 'the charge stays';
const UNLISTED = 'unlisted';
const LOGGED = 'a log line';
const ERROR = '500';
const ANSWER = 'its error is sent';
const CALL = 'the call fails';
const NOTHING = 'nothing';
const THROTTLER = '`ThrottlerModule`';
const ADAPTER = 'an adapter of `contexts`';

/** Every function that an application gives to the library, by its name. `test/e2e/decisions/user-functions.spec.ts` proves each line. */
export const USER_FUNCTIONS = {
  choose: {
    of: 'a policy',
    request: 0,
    promise: 'yes',
    fails: 'its `fallback` or the `defaults` count, else nothing',
    nonsense: 'the same, else 500',
  },
  by: { of: 'a policy', request: 0, promise: 'yes', fails: '`onMissingIdentity`', nonsense: ERROR },
  cost: { of: 'a policy', request: 0, promise: 'yes', fails: 'it costs 1', nonsense: ERROR },
  skipIf: { of: 'a policy', request: 0, promise: 'yes', fails: COUNTED },
  timeZone: { of: 'a policy', request: 0, promise: 'yes', fails: 'UTC' },
  priority: {
    of: 'a policy',
    request: 0,
    promise: 'yes',
    fails: 'the last class',
    nonsense: '500, for undefined or null the first class',
  },
  countIf: { of: 'a policy', promise: 'yes', fails: STAYS },
  settle: { of: 'a policy', promise: 'yes', fails: STAYS },
  resolve: {
    of: 'a resolver of `identity`',
    request: 0,
    promise: 'yes',
    fails: '`onMissingIdentity`',
    nonsense: ERROR,
  },
  'plan.resolve': {
    of: 'the module',
    request: 0,
    promise: 'yes',
    fails: 'the last known plan, else the `fallback`',
  },
  'shed.check': { of: 'the module', promise: 'no', fails: 'it sheds nothing' },
  'shed.priority': { of: 'the module', request: 0, promise: 'yes', fails: 'it sheds nothing' },
  allowList: { of: 'the module', request: 1, promise: 'yes', fails: UNLISTED },
  blockList: { of: 'the module', request: 1, promise: 'yes', fails: UNLISTED },
  problem: { of: 'the module', request: 1, promise: 'yes', fails: 'the standard members' },
  onDecision: { of: 'the module', promise: 'not awaited', fails: LOGGED, hangs: NOTHING, nonsense: NOTHING },
  onThreshold: { of: 'the module', promise: 'not awaited', fails: LOGGED, hangs: NOTHING, nonsense: NOTHING },
  onStoreStateChange: { of: 'the module', promise: 'not awaited', fails: LOGGED, hangs: NOTHING, nonsense: NOTHING },
  consume: { of: 'a `store` of your own', promise: 'yes', fails: '`onStoreFailure` decides' },
  shouldSkip: {
    of: 'a subclass of `RateLimitGuard`',
    promise: 'yes',
    fails: ANSWER,
    hangs: COUNTED,
    nonsense: COUNTED,
  },
  identityTag: {
    of: 'a subclass of `RateLimitGuard`',
    promise: 'yes',
    fails: ANSWER,
    hangs: '`onMissingIdentity`',
    nonsense: ERROR,
  },
  setHeaders: {
    of: 'a subclass of `RateLimitGuard`',
    promise: 'not awaited',
    fails: `${ANSWER}, a promise's is logged`,
    hangs: NOTHING,
    nonsense: NOTHING,
  },
  refuse: {
    of: 'a subclass of `RateLimitGuard`',
    promise: 'yes',
    fails: ANSWER,
    hangs: "the library's 429",
    nonsense: "the library's 429",
  },
  request: { of: ADAPTER, promise: 'no', fails: CALL },
  operation: { of: ADAPTER, promise: 'no', fails: CALL, nonsense: 'the call fails, or is an operation' },
  opened: { of: ADAPTER, promise: 'yes', fails: CALL, hangs: 'the call waits', nonsense: NOTHING },
  toError: { of: ADAPTER, promise: 'no', fails: CALL },
  client: { of: ADAPTER, promise: 'no', fails: CALL },
  ends: { of: ADAPTER, promise: 'no', fails: CALL, nonsense: "as `'handler'`" },
  author: { of: '`RateLimitAdminModule`', request: 0, promise: 'yes', fails: '500, and nothing is changed' },
  logger: {
    of: 'the application',
    promise: 'not awaited',
    fails: 'the line is lost',
    hangs: NOTHING,
    nonsense: NOTHING,
  },
  'skipIf of a throttler': {
    of: THROTTLER,
    promise: 'yes',
    fails: ANSWER,
    hangs: COUNTED,
    nonsense: 'truthy values skip',
  },
  getTracker: {
    of: THROTTLER,
    promise: 'yes',
    fails: ANSWER,
    hangs: 'its address',
    nonsense: '500, but a text is the tracker',
  },
  generateKey: {
    of: THROTTLER,
    promise: 'yes',
    fails: ANSWER,
    hangs: 'its handler and tracker',
    nonsense: ERROR,
  },
  limit: { of: THROTTLER, promise: 'yes', fails: ANSWER, hangs: 'it passes without it', nonsense: ERROR },
  errorMessage: { of: THROTTLER, promise: 'yes', fails: ANSWER, hangs: 'the default message', nonsense: 'any answer' },
  throwThrottlingException: {
    of: 'a subclass of `ThrottlerGuard`',
    promise: 'yes',
    fails: ANSWER,
    hangs: 'the default answer',
    nonsense: 'it passes',
  },
  partition: { of: '`rateLimitFetch`', promise: 'no', fails: CALL },
  onWait: {
    of: '`rateLimitFetch`',
    promise: 'not awaited',
    fails: `${CALL}, of a promise nothing`,
    hangs: NOTHING,
    nonsense: NOTHING,
  },
} as const satisfies Readonly<Record<string, UserFunction>>;

export type UserFunctionName = keyof typeof USER_FUNCTIONS;

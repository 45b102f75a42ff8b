type Anything = Record<string, unknown>;

/** A right policy of each algorithm, with changed options. */
export const bucket = (options: Anything = {}): Anything => ({
  algorithm: 'token-bucket',
  capacity: 20,
  refill: 10,
  ...options,
});
export const queue = (options: Anything = {}): Anything => ({
  algorithm: 'leaky-bucket',
  capacity: 20,
  drain: 10,
  ...options,
});
export const fixed = (options: Anything = {}): Anything => ({
  algorithm: 'fixed-window',
  limit: 5,
  window: '1m',
  ...options,
});
export const log = (options: Anything = {}): Anything => ({ ...fixed(options), algorithm: 'sliding-window-log' });
const counter = (options: Anything = {}): Anything => ({ ...fixed(options), algorithm: 'sliding-window-counter' });
const without = (option: string, policy: Anything): Anything =>
  Object.fromEntries(Object.entries(policy).filter(([name]) => name !== option));

const ALGORITHMS =
  "'token-bucket', 'leaky-bucket', 'fixed-window', 'sliding-window-log', 'sliding-window-counter', 'concurrency'";
export const COUNT = 'must be a whole number from 1 to 1000000000000';
const RATE = "must be a number per second greater than 0, or a count and a duration such as '600/m' or '10000/d'";
const WINDOW = "must be milliseconds or a duration such as '1m', from 1 ms to 3155760000000 ms";

/** Values that are no whole number from 1, and their text in the message. */
const NO_COUNT: [unknown, string][] = [
  [0, '0'],
  [1.5, '1.5'],
  [NaN, 'NaN'],
  [1e15, '1000000000000000'],
  ['20', "'20'"],
  [Object.create(null), 'an object'],
  [Symbol('x'), 'Symbol(x)'],
];

/** Which rates are none: libs/floodgate/src/algorithms/core/rate.spec.ts. */
const NO_RATE: [unknown, string][] = [
  ['600/x', "'600/x'"],
  [null, 'null'],
];

const NO_WINDOW: [unknown, string][] = [
  ['-1m', "'-1m'"],
  ['60', "'60'"],
  [0, '0'],
  [0.5, '0.5'],
  [Infinity, 'Infinity'],
  ['1 fortnight', "'1 fortnight'"],
  ['200y', "'200y'"],
  ['x'.repeat(200), `'${'x'.repeat(57)}...'`],
  [null, 'null'],
];

const table = (
  rows: [unknown, string][],
  policies: ((value: unknown) => Anything)[],
  problem: (policy: Anything) => string,
): [string, unknown[]][] =>
  rows.flatMap(([value, text]) =>
    policies.map((make): [string, unknown[]] => [`${problem(make(value))}, got ${text}`, [make(value)]]),
  );

/** A name of the maximum length. */
export const LONG = 'a'.repeat(64);

/** The message after the handler's name, and the wrong policies of one route. */
export const WRONG_POLICIES: [string, unknown[]][] = [
  [`algorithm must be one of ${ALGORITHMS}, got 'tocken-bucket'`, [bucket({ algorithm: 'tocken-bucket' })]],
  [`algorithm must be one of ${ALGORITHMS}, got 'toString'`, [bucket({ algorithm: 'toString' })]],
  [`algorithm must be one of ${ALGORITHMS}, got '__proto__'`, [bucket({ algorithm: '__proto__' })]],
  [`algorithm must be one of ${ALGORITHMS}, got undefined`, [without('algorithm', bucket())]],
  ['a policy must be an object such as', [null]],
  ['a policy must be an object such as', [20]],
  ['a policy must be an object such as', [[]]],

  ...table(
    NO_COUNT,
    [(capacity) => bucket({ capacity }), (capacity) => queue({ capacity })],
    () => `capacity ${COUNT}`,
  ),
  ...table(NO_COUNT, [(limit) => fixed({ limit }), (limit) => counter({ limit })], () => `limit ${COUNT}`),
  ['limit must be a whole number from 1 to 1000000, got 1000001', [log({ limit: 1_000_001 })]],
  ...table(NO_RATE, [(refill) => bucket({ refill })], () => `refill ${RATE}`),
  ...table(NO_RATE, [(drain) => queue({ drain })], () => `drain ${RATE}`),
  ...table(NO_WINDOW, [(window) => fixed({ window }), (window) => log({ window })], () => `window ${WINDOW}`),
  [`capacity ${COUNT}, got nothing`, [without('capacity', bucket())]],
  [`refill ${RATE}, got nothing`, [without('refill', bucket())]],
  [`drain ${RATE}, got nothing`, [without('drain', queue())]],
  [`limit ${COUNT}, got nothing`, [without('limit', fixed())]],
  [`window ${WINDOW}, got nothing`, [without('window', fixed())]],
  ["window must have calendar: 'day', 'week' or 'month', got", [fixed({ window: {} })]],
  ["window must have calendar: 'day', 'week' or 'month', got", [fixed({ window: { calendar: 'year' } })]],
  ["window must have calendar: 'day', 'week' or 'month', got", [fixed({ window: { calendar: 'toString' } })]],
  ['window must have a timeZone of the IANA database', [fixed({ window: { calendar: 'day', timeZone: 'Paris' } })]],
  ['window must have a timeZone of the IANA database', [fixed({ window: { calendar: 'day', timeZone: null } })]],
  ['window has no option timezone', [fixed({ window: { calendar: 'day', timezone: 'Europe/Paris' } })]],
  ["got calendar: 'monthly'. Did you mean 'month'?", [fixed({ window: { calendar: 'monthly' } })]],
  [
    "got timeZone: 'Europe/Pariss'. Did you mean 'Europe/Paris'?",
    [fixed({ window: { calendar: 'day', timeZone: 'Europe/Pariss' } })],
  ],
  ['window has no option timezone. Did you mean timeZone?', [fixed({ window: { calendar: 'day', timezone: 'UTC' } })]],
  [`window ${WINDOW}, got a calendar, which only a fixed-window takes`, [log({ window: { calendar: 'day' } })]],
  ["got '1 month': { calendar: 'month' } is a window that begins with the month", [fixed({ window: '1 month' })]],
  ["got 'monthly': { calendar: 'month' } is a window", [fixed({ window: 'monthly' })]],
  ["got '1M': '1m' is a minute, and { calendar: 'month' } of a fixed-window a month", [fixed({ window: '1M' })]],
  ["got 'daily': { calendar: 'day' } is a window", [fixed({ window: 'daily' })]],
  ["got '1 month': '30d' is a duration, and only a fixed-window takes", [log({ window: '1 month' })]],
  ["got 'sliding-log'. Did you mean 'sliding-window-log'?", [{ algorithm: 'sliding-log', limit: 10, window: '1m' }]],
  ["got 'leaky'. Did you mean 'leaky-bucket'?", [{ algorithm: 'leaky', capacity: 10, drain: 1 }]],
  [
    "got 'sliding-window'. Did you mean 'sliding-window-log' or 'sliding-window-counter'?",
    [{ algorithm: 'sliding-window', limit: 10, window: '1m' }],
  ],
  ["'ttl' is window here, as in { algorithm: 'fixed-window',", [{ limit: 10, ttl: 60_000 }]],
  ["'ttl' is not an option of fixed-window (got 60000). Here it is window.", [fixed({ ttl: 60_000 })]],
  ["'windowMs' is not an option of fixed-window (got 60000). Here it is window.", [fixed({ windowMs: 60_000 })]],
  ["got 'token-buckt'. Did you mean 'token-bucket'?", [bucket({ algorithm: 'token-buckt' })]],
  ["mode must be one of 'enforce', 'shadow', got 'shadw'. Did you mean 'shadow'?", [bucket({ mode: 'shadw' })]],

  [
    "'capcity' is not an option of token-bucket (got 20). Did you mean capacity? The options are",
    [{ ...without('capacity', bucket()), capcity: 20 }],
  ],
  ["'drain' is not an option of token-bucket (got 5)", [bucket({ drain: 5 })]],
  ["'refill' is not an option of leaky-bucket (got 5)", [queue({ refill: 5 })]],
  ["'window' is not an option of token-bucket (got '1m')", [bucket({ window: '1m' })]],
  ["'capacity' is not an option of fixed-window (got 3)", [fixed({ capacity: 3 })]],
  ["'limit' is not an option of token-bucket", [bucket({ limit: 3 })]],
  ['a policy must be a plain object, got an instance of a class', [Object.create(bucket()) as Anything]],
  ["'Name' is not an option", [bucket({ Name: 'x' })]],
  ["'onMissing' is not an option of fixed-window (got 'ip')", [fixed({ onMissing: 'ip' })]],
  [
    "'__proto__' is not an option",
    [JSON.parse('{"algorithm":"token-bucket","capacity":20,"refill":10,"__proto__":{}}')],
  ],
  ["onMissingIdentity must be one of 'ip', 'reject', 'throw', got 'deny'", [bucket({ onMissingIdentity: 'deny' })]],

  ["there is no policy named 'burts'. Did you mean 'burst'? The option policies has 'burst', 'daily'", ['burts']],
  ["there is no policy named ''", ['']],
  ["there is no policy named '__proto__'", ['__proto__']],

  ['cost must be a whole number from 0 to 20 (what can ever fit), or a function, got 21', [bucket({ cost: 21 })]],
  ['cost must be a whole number from 0 to 21 (what can ever fit), or a function, got 22', [queue({ cost: 22 })]],
  ['cost must be a whole number from 0 to 5 (what can ever fit), or a function, got 6', [fixed({ cost: 6 })]],
  [
    'cost must be a whole number from 0 to 1000 (what can ever fit), or a function, got 1001',
    [log({ limit: 9999, cost: 1001 })],
  ],
  ['cost must be a whole number from 0 to 20 (what can ever fit), or a function, got -1', [bucket({ cost: -1 })]],
  ["or a function, got '1'", [bucket({ cost: '1' })]],
  ['or a function, got NaN', [bucket({ cost: NaN })]],
  ['or a function, got null', [bucket({ cost: null })]],

  [
    "by must be one of 'client', 'ip', 'user', 'api-key', 'global', or a function, got 'apikey'",
    [bucket({ by: 'apikey' })],
  ],
  ["scope must be one of 'route', 'controller', 'app', got 'class'", [bucket({ scope: 'class' })]],
  ['skipIf must be a function, got true', [bucket({ skipIf: true })]],
  ['name must be 1 to 64 printable characters, got', [bucket({ name: '' })]],
  ['name must be 1 to 64 printable characters, got', [bucket({ name: `${LONG}a` })]],
  ['name must be 1 to 64 printable characters, got', [bucket({ name: 'caf\u00e9' })]],
  ['name must be 1 to 64 printable characters, got', [bucket({ name: 'a\nb' })]],
  ['name must be 1 to 64 printable characters, got 7', [bucket({ name: 7 })]],
  ["name is missing: with scope 'app'", [bucket({ scope: 'app' })]],

  ['shards must be a whole number from 1 to 64, got 0', [bucket({ by: 'global', shards: 0 })]],
  ["prefetch must be an object such as { for: '100ms', max: 200 }, got '100ms'", [bucket({ prefetch: '100ms' })]],
  [
    "prefetch.for must be milliseconds or a duration such as '100ms', from 10 ms to 60000 ms, got 5",
    [bucket({ prefetch: { for: 5, max: 9 } })],
  ],
  [
    'prefetch.max must be the cost of a request at least, which is 9, got 8',
    [bucket({ prefetch: { for: '1s', max: 8 }, cost: 9, capacity: 99 })],
  ],
  ['prefetch.max must be a whole number from 2 to 1000000, got 1', [fixed({ prefetch: { for: '1s', max: 1 } })]],
  ['prefetch has no option most: it must have for and max', [counter({ prefetch: { for: '1s', most: 9 } })]],
  ['shards must be a whole number from 1 to 64, got 65', [bucket({ by: 'global', shards: 65 })]],
  ["shards must be a whole number from 1 to 64, got '4'", [bucket({ by: 'global', shards: '4' })]],
  [
    'shards: 3 does not divide 20 evenly, so a part of the limit would never be admitted: 18 or 21 would be right',
    [bucket({ by: 'global', shards: 3 })],
  ],
  [
    'shards: 8 does not divide 5 evenly, so a part of the limit would never be admitted: 8 would be right',
    [fixed({ by: 'global', shards: 8 })],
  ],
  ['shards: 4 leaves 5 for a shard, in which cost 6 never fits', [bucket({ by: 'global', shards: 4, cost: 6 })]],

  [
    'refill must be fast enough to pay off 1000000000000 within 100 years, got 1',
    [bucket({ capacity: 1e12, refill: 1 })],
  ],
  ['drain must be at most 1e9 per second, got 2000000000', [queue({ drain: 2e9 })]],
  ['window must be milliseconds', [counter({ limit: 1e12, window: '1d' })]],

  ['2 policies stand together and not all have a name: give each its own', [bucket(), fixed()]],
  [
    "two policies are named 'burst' and would count under one key",
    [bucket({ name: 'burst' }), fixed({ name: 'burst' })],
  ],
  ["two policies are named 'burst' and would count under one key", ['burst', bucket({ name: 'burst' })]],
  ["two policies are named 'daily' and would count under one key", ['daily', 'daily']],
  ["two policies are named 'default' and would count under one key", [bucket(), fixed({ name: 'default' })]],
];

import { MAX_PROCESSES } from '../engine/fallback.js';
import { REQUEST_OPTIONS } from '../http/request-options.js';
import { isKeyPrefix } from '../policy/key.js';
import { STORE_FAILURES } from '../policy/policy-options.js';
import { gotRedis, isGivenRedis, WANTED_REDIS } from '../stores/redis/clients/given-redis.js';
import { RateLimitConfigError, shapeOf } from '../util/config-error.js';
import {
  checkNames,
  duration,
  type DurationRule,
  hasMethods,
  isFunction,
  isObject,
  oneOf,
  type OptionRule,
  readOption,
  whole,
} from '../util/option-rules.js';
import type { LimiterOptions } from './limiter-options.js';
import { ROOM_OPTIONS } from './rooms.js';

const MAX_MS = 10_000;

const callback = { default: undefined, valid: isFunction, wanted: 'a function' } as const satisfies OptionRule;

/** The bytes of SHA-256: a longer secret is no harder to guess. */
const LEAST_SECRET_BYTES = 32;
/** Blanks, or a word again and again, are no secret. Of 2^25 random texts of 32 hexadecimal digits, one has fewer. */
const LEAST_CHARACTERS = 8;

const secrets = {
  default: undefined,
  isSecret: true,
  valid: (value) => {
    const all: readonly unknown[] = Array.isArray(value) ? [...value] : [value]; // a hole is read as undefined
    return all.every(isSecret) && all.length > 0 && new Set(all).size === all.length;
  },
  wanted:
    `a text of at least ${LEAST_SECRET_BYTES} bytes and ${LEAST_CHARACTERS} different characters, such as of openssl rand -base64 32, or ` +
    'an array of different ones, the current one first',
  got: (value) =>
    Array.isArray(value) ? `an array of ${Array.from(value, secretShown).join(' and ')}` : secretShown(value),
} as const satisfies OptionRule;

function isSecret(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    Buffer.byteLength(value) >= LEAST_SECRET_BYTES &&
    new Set(value).size >= LEAST_CHARACTERS
  );
}

function secretShown(value: unknown): string {
  const shape = shapeOf(value);
  return typeof value === 'string' ? `${shape} (different characters: ${new Set(value).size})` : shape;
}

/** The options of a limiter: each is declared here and nowhere else. */
export const LIMITER_OPTIONS = {
  redis: {
    default: undefined,
    valid: isGivenRedis,
    wanted: WANTED_REDIS,
    isSecret: true, // a URL can hold a password
    got: gotRedis,
  },
  store: {
    default: undefined,
    valid: (value) => hasMethods(value, ['consume', 'reset']),
    wanted: 'a RateLimitStore (an object with consume and reset)',
  },
  policies: { default: {}, valid: isObject, wanted: 'an object of policies by name' },
  keyPrefix: {
    default: 'rl',
    valid: isKeyPrefix,
    wanted: '1 to 32 printable characters without blanks and braces',
  },
  identitySecret: { ...secrets, needsRedis: true },
  clock: { ...oneOf(['redis', 'app'], 'redis'), needsRedis: true },
  maxSkew: { ...duration('1s', 0, MAX_MS), needsRedis: true, shortMs: 10 },
  deadline: { ...duration('50ms', 1, MAX_MS), shortMs: 10 },
  connect: { ...oneOf(['retry', 'required'], 'retry'), needsRedis: true },
  onStoreFailure: { ...oneOf(STORE_FAILURES, 'local'), needsRedis: true },
  localShare: { ...whole(1, 1, MAX_PROCESSES), needsRedis: true },
  fallbackMaxBytes: { ...whole(64_000_000, 1), needsRedis: true },
  onStoreStateChange: { ...callback, needsRedis: true },
  onDecision: callback,
  decisionIdentity: {
    default: undefined,
    valid: (value) => value === 'tag' || value === 'hash',
    wanted: "'tag' or 'hash'",
  },
  maxQueuedCalls: whole(10_000, 1),
  logger: {
    default: undefined,
    valid: (value) => hasMethods(value, ['log', 'warn', 'error']),
    wanted: 'a logger (an object with log, warn and error), such as console',
  },
  ...ROOM_OPTIONS,
} as const satisfies Record<keyof LimiterOptions, OptionRule>;

type Rules = Readonly<Record<string, OptionRule>>;

/** The options without a default: they may be undefined after their check. */
type OpenOption<Table extends Rules> = {
  [Option in keyof Table]: Table[Option]['default'] extends undefined ? Option : never;
}[keyof Table];

/** The options that are durations. */
type DurationOption<Table extends Rules> = {
  [Option in keyof Table]: Table[Option] extends DurationRule ? Option : never;
}[keyof Table];

/** The options that are secrets or contain them. */
type SecretOption<Table extends Rules> = {
  [Option in keyof Table]: Table[Option] extends { readonly isSecret: true } ? Option : never;
}[keyof Table];

/** Checked options, with every default. Durations are milliseconds. */
export type Checked<Options, Table extends Rules> = Pick<
  Options,
  Exclude<OpenOption<Table>, SecretOption<Table>> & keyof Options
> &
  Required<Omit<Options, OpenOption<Table> | DurationOption<Table> | SecretOption<Table>>> & {
    readonly [Option in DurationOption<Table> & string as `${Option}Ms`]: number;
  } & {
    /** The options as they were given, without defaults. A function, because they contain secrets. */
    readonly given: () => Readonly<Options>;
    /** How errors begin: what the options were given to. */
    readonly where: string;
  };

export type CheckedLimiterOptions = Checked<LimiterOptions, typeof LIMITER_OPTIONS>;

/** Checks the options of a limiter without routes, and names the place of those that belong elsewhere. */
export function readLimiterOptions(options: LimiterOptions, where: string): CheckedLimiterOptions {
  return readOptions(options, LIMITER_OPTIONS, where, (option) =>
    option === 'trustProxy' || Object.hasOwn(REQUEST_OPTIONS, option)
      ? 'Give it to rateLimit, limitHook or limitRequests'
      : undefined,
  );
}

/**
 * Checks each option, and what several of them mean together.
 *
 * @param where how errors begin
 * @param placeOf as for `checkNames`
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 */
export function readOptions<Options extends LimiterOptions, Table extends Rules>(
  options: Options,
  table: Table,
  where: string,
  placeOf?: (option: string) => string | undefined,
): Checked<Options, Table> {
  checkNames(options, Object.keys(table), where, '', placeOf);
  const checked: Record<string, unknown> = { given: () => options, where };
  for (const [option, rule] of Object.entries(table)) {
    const value = readOption(options, option, rule, where);
    if (rule.isSecret !== true) checked['isDuration' in rule ? `${option}Ms` : option] = value;
  }
  checkTogether(options, checked as unknown as CheckedLimiterOptions);
  return checked as unknown as Checked<Options, Table>;
}

/** Checks what single options cannot tell. */
function checkTogether(options: LimiterOptions, { where }: CheckedLimiterOptions): void {
  const { redis, store, clock = 'redis', maxSkew } = options;
  const { decisionIdentity, onDecision } = options;
  // `in`: the options may be a class with getters.
  if ('identitySecret' in options && options.identitySecret === undefined) {
    throw new RateLimitConfigError(
      where,
      'identitySecret is given, and undefined: is the variable set? Keys would show identities. Leave the option out for keys without a secret',
    );
  }
  if (redis !== undefined && redis !== '' && store !== undefined) {
    throw new RateLimitConfigError(
      where,
      'redis and store are both given: a store of your own brings its own connection',
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  if (maxSkew !== undefined && clock === 'redis') {
    throw new RateLimitConfigError(
      where,
      "maxSkew has no effect on Redis's clock: give clock: 'app' with it, or leave it out",
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  // A hash also names the identities of other events and of stats().
  if (decisionIdentity === 'tag' && onDecision === undefined) {
    throw new RateLimitConfigError(
      where,
      'decisionIdentity has no effect without onDecision: give onDecision with it, or leave it out',
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
}

import { RateLimitConfigError } from 'floodgate';
import { checkNames, type OptionRule, shown } from 'floodgate/internal';
import { DEFAULT_NAME, oneOf, readOption, throttlerSuffix } from 'floodgate/internal-boot';
import { MODULE_OPTIONS } from '../options/options-table.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import type { ThrottlerModuleOptions, ThrottlerObjectOptions, ThrottlerOptions } from './options.js';
import { checkThrottlerName, checkThrottlerNumbers } from './storage-policies.js';

const WHERE = 'ThrottlerModule';

const aFunction: OptionRule = {
  default: undefined,
  valid: (value) => typeof value === 'function',
  wanted: 'a function',
};
const patterns: OptionRule = {
  default: undefined,
  valid: (value) => Array.isArray(value) && value.every((one) => one instanceof RegExp),
  wanted: 'an array of regular expressions',
};

/** The options that a throttler and the module share. */
const COMMON = {
  ignoreUserAgents: patterns,
  skipIf: aFunction,
  getTracker: aFunction,
  generateKey: aFunction,
  setHeaders: oneOf([true, false], undefined),
} as const;

const MODULE = {
  ...COMMON,
  errorMessage: {
    default: undefined,
    valid: (value: unknown) => typeof value === 'string' || typeof value === 'function',
    wanted: 'text or a function',
  },
  ipv6SubnetPrefix: {
    default: undefined,
    valid: (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 128,
    wanted: 'a whole number of bits from 0 to 128',
  },
} as const;

const THROTTLER_NAMES = ['name', 'limit', 'ttl', 'blockDuration', ...Object.keys(COMMON)];
const MODULE_NAMES = ['throttlers', 'storage', ...Object.keys(MODULE)];

/** The throttlers of either form of the options. */
export function throttlersOf(options: ThrottlerModuleOptions): readonly ThrottlerOptions[] {
  return Array.isArray(options) ? options : options.throttlers;
}

/** The options as an object. */
export function objectOf(options: ThrottlerModuleOptions): ThrottlerObjectOptions {
  return Array.isArray(options) ? { throttlers: options } : options;
}

/** A number as a configuration may give it: `'10'` is 10. */
export function numberOf(value: unknown): unknown {
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
}

/**
 * Checks the options of `ThrottlerModule`. Those of `RateLimitModule` are checked there.
 *
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 */
export function checkThrottlerOptions(options: ThrottlerModuleOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(WHERE, `options must be an array of throttlers or an object, got ${shown(options)}`);
  }
  const given = objectOf(options);
  if (given.storage !== undefined) {
    throw new RateLimitConfigError(
      WHERE,
      `storage: Floodgate keeps the hits itself, so a storage of @nestjs/throttler cannot be used, got ${shown(given.storage)}. ` +
        `In place of ThrottlerStorageRedisService give redis: a URL, ioredis options or a client; in place of a storage of ` +
        `your own give store: a RateLimitStore`,
    );
  }
  checkNames(given, [...MODULE_NAMES, ...Object.keys(MODULE_OPTIONS)], WHERE);
  for (const [option, rule] of Object.entries(MODULE)) readOption(given, option, rule, WHERE);
  if (!Array.isArray(given.throttlers)) {
    throw new RateLimitConfigError(
      WHERE,
      `throttlers must be an array such as [{ limit: 10, ttl: 60_000 }], got ${shown(given.throttlers)}`,
    );
  }
  const names = new Set<string>();
  for (const [i, throttler] of given.throttlers.entries()) {
    const where = `${WHERE}, throttlers[${i}]`;
    checkThrottler(throttler, where, names);
    if (throttler.setHeaders ?? given.setHeaders ?? true) checkHeaderName(throttler, where);
  }
}

function checkThrottler(throttler: ThrottlerOptions, where: string, names: Set<string>): void {
  if (typeof throttler !== 'object' || throttler === null) {
    throw new RateLimitConfigError(
      where,
      `must be an object such as { limit: 10, ttl: 60_000 }, got ${shown(throttler)}`,
    );
  }
  checkNames(throttler, THROTTLER_NAMES, where, 'a throttler');
  const { name = DEFAULT_NAME } = throttler;
  checkThrottlerName(name, where);
  if (names.has(name)) {
    throw new RateLimitConfigError(
      where,
      `two throttlers are named ${shown(name)}, and would count every request twice: give each a name of its own`,
      'FG_POLICY_NAME',
    );
  }
  names.add(name);
  for (const [option, rule] of Object.entries(COMMON)) readOption(throttler, option, rule, where);
  for (const option of ['limit', 'ttl'] as const) {
    if (throttler[option] === undefined)
      throw new RateLimitConfigError(where, `${option} is missing`, 'FG_INVALID_POLICY');
  }
  checkResolvables(throttler, where);
}

/** Node refuses to send such a header: without this check each response would be a 500. */
function checkHeaderName({ name = DEFAULT_NAME }: ThrottlerOptions, where: string): void {
  const suffix = throttlerSuffix(name);
  if (suffix === '' || suffix === `-${name}`) return;
  throw new RateLimitConfigError(
    where,
    `name ${shown(name)} cannot stand in the header X-RateLimit-Limit-${name}: give a name of letters, digits and hyphens, ` +
      `such as ${shown(suffix.slice(1))}, or setHeaders: false`,
    'FG_POLICY_NAME',
  );
}

/**
 * Checks the numbers of a throttler or of an override. Functions are left for their requests.
 *
 * @throws {RateLimitConfigError}
 */
export function checkResolvables(
  given: Readonly<Partial<Pick<ThrottlerOptions, 'limit' | 'ttl' | 'blockDuration'>>>,
  where: string,
): void {
  const read = (option: 'limit' | 'ttl' | 'blockDuration'): number | undefined => {
    const value = numberOf(given[option]);
    return typeof value === 'function' ? undefined : (value as number | undefined);
  };
  checkThrottlerNumbers({ limit: read('limit'), ttl: read('ttl'), blockDuration: read('blockDuration') }, where);
}

/** The options of `RateLimitModule` among those of `ThrottlerModule`. */
export function engineOptionsOf(options: ThrottlerModuleOptions): RateLimitModuleOptions {
  checkThrottlerOptions(options);
  const own = Object.entries(objectOf(options)).filter(([name]) => !MODULE_NAMES.includes(name));
  return Object.fromEntries(own);
}

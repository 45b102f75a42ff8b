import type { Algorithm } from '../algorithms/algorithm.js';
import { ALGORITHM_NAMES, algorithmEntry, type OptionReader } from '../algorithms/algorithms.js';
import { ON_MISSING_IDENTITY, type OnMissingIdentity } from '../identity/identity.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { OnStoreFailure, Policy, PolicyBy, PolicyScope } from './policy.js';

/** A policy that was checked once, with its algorithm ready to decide. */
export interface ParsedPolicy {
  readonly name: string;
  /** Whether the name was given, not the default. */
  readonly named: boolean;
  readonly by: PolicyBy;
  /** Undefined: what the module says. */
  readonly onMissingIdentity: OnMissingIdentity | undefined;
  /** Undefined: what the place of the policy implies. */
  readonly scope: PolicyScope | undefined;
  readonly cost: NonNullable<Policy['cost']>;
  readonly skipIf: Policy['skipIf'];
  /** Undefined: what the module says. */
  readonly onStoreFailure: OnStoreFailure | undefined;
  readonly algorithm: Algorithm;
  readonly shards: number;
  /** What an operator should know, such as a rate that was rounded. */
  readonly warnings: readonly string[];
}

const COMMON_OPTIONS = [
  'algorithm',
  'name',
  'by',
  'scope',
  'cost',
  'skipIf',
  'onStoreFailure',
  'onMissingIdentity',
  'shards',
];
const KINDS: readonly unknown[] = ['client', 'ip', 'user', 'api-key', 'global'];
const SCOPES: readonly unknown[] = ['route', 'controller', 'app'];
export const STORE_FAILURES: readonly OnStoreFailure[] = ['local', 'open', 'closed'];
export const DEFAULT_NAME = 'default';

/**
 * Checks a policy and makes its algorithm.
 *
 * @param place where the policy stands, as error messages begin: `RidesController.request, @RateLimit`
 * @param fallbackName the name of a policy that gives none itself
 * @throws {RateLimitConfigError} naming the place, the option, what was given and what would be right
 */
export function parsePolicy(policy: unknown, place: string, fallbackName?: string): ParsedPolicy {
  const fail = (problem: string): never => {
    throw new RateLimitConfigError(place, problem);
  };
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) {
    return fail(
      `a policy must be an object such as { algorithm: 'token-bucket', capacity: 20, refill: 10 }, got ${shown(policy)}`,
    );
  }
  if (![Object.prototype, null].includes(Object.getPrototypeOf(policy) as object | null)) {
    fail('a policy must be a plain object, got an instance of a class');
  }
  const given = policy as Readonly<Record<string, unknown>>;
  const entry = algorithmEntry(given.algorithm);
  if (entry === undefined) {
    return fail(`algorithm must be one of ${ALGORITHM_NAMES.map(shown).join(', ')}, got ${shown(given.algorithm)}`);
  }
  const known = [...COMMON_OPTIONS, ...entry.options];
  for (const option of Object.keys(given)) {
    if (!known.includes(option)) {
      fail(
        `${shown(option)} is not an option of ${String(given.algorithm)} (got ${shown(given[option])}); its options are ${known.join(', ')}`,
      );
    }
  }

  const warnings: string[] = [];
  const value: OptionReader['value'] = (option, read, wanted) => {
    let problem = `must be ${wanted}`;
    try {
      const result = read(given[option]);
      if (result !== undefined) return result;
    } catch (error) {
      problem = (error as Error).message;
    }
    return fail(`${option} ${problem}, got ${Object.hasOwn(given, option) ? shown(given[option]) : 'nothing'}`);
  };
  const optional = <T>(option: string, fallback: T, valid: (given: unknown) => boolean, wanted: string): T =>
    given[option] === undefined ? fallback : value(option, (v) => (valid(v) ? (v as T) : undefined), wanted);
  const whole: OptionReader['whole'] = (option, max) =>
    value(
      option,
      (v) => (Number.isInteger(v) && (v as number) >= 1 && (v as number) <= max ? (v as number) : undefined),
      `a whole number from 1 to ${max}`,
    );

  const algorithm = entry.create({ whole, value, warn: (message) => warnings.push(message) });
  const isFunction = (v: unknown): boolean => typeof v === 'function';
  const cost = optional<ParsedPolicy['cost']>(
    'cost',
    1,
    (v) => isFunction(v) || (Number.isInteger(v) && (v as number) >= 0 && (v as number) <= algorithm.maxCost),
    `a whole number from 0 to ${algorithm.maxCost} (what can ever fit), or a function`,
  );
  const name = optional('name', fallbackName, isName, `1 to ${MAX_NAME} printable characters`);
  const by = optional<PolicyBy>(
    'by',
    'client',
    (v) => isFunction(v) || KINDS.includes(v),
    `one of ${KINDS.map(shown).join(', ')}, or a function`,
  );
  const scope = optional<PolicyScope | undefined>(
    'scope',
    undefined,
    (v) => SCOPES.includes(v),
    `one of ${SCOPES.map(shown).join(', ')}`,
  );
  if (scope === 'app' && name === undefined) {
    fail(`name is missing: with scope 'app' all routes that use the name share one state`);
  }
  const skipIf = optional<Policy['skipIf']>('skipIf', undefined, isFunction, 'a function');
  const onStoreFailure = optional<OnStoreFailure | undefined>(
    'onStoreFailure',
    undefined,
    (v) => (STORE_FAILURES as readonly unknown[]).includes(v),
    `one of ${STORE_FAILURES.map(shown).join(', ')}`,
  );
  const onMissingIdentity = optional<OnMissingIdentity | undefined>(
    'onMissingIdentity',
    undefined,
    (v) => (ON_MISSING_IDENTITY as readonly unknown[]).includes(v),
    `one of ${ON_MISSING_IDENTITY.map(shown).join(', ')}`,
  );
  const shards = optional(
    'shards',
    1,
    (v) => Number.isInteger(v) && (v as number) >= 1 && (v as number) <= MAX_SHARDS,
    `a whole number from 1 to ${MAX_SHARDS}`,
  );
  if (shards > 1) {
    const problem = whyNotSharded({ by, algorithm, cost, shards });
    if (problem !== undefined) fail(`shards: ${shards} ${problem}`);
  }
  return {
    name: name ?? DEFAULT_NAME,
    named: name !== undefined,
    by,
    onMissingIdentity,
    scope,
    cost,
    skipIf,
    onStoreFailure,
    algorithm,
    shards,
    warnings,
  };
}

/** More than a Cluster has masters to spread them over. */
const MAX_SHARDS = 64;

/** What stands against splitting a policy's state, if anything does. */
function whyNotSharded({
  by,
  algorithm,
  cost,
  shards,
}: Pick<ParsedPolicy, 'by' | 'algorithm' | 'cost' | 'shards'>): string | undefined {
  const { name, limit } = algorithm;
  if (by !== 'global') return `is for policies that count everybody (by: 'global'), got by: ${shown(by)}`;
  if (!algorithm.shardable) return `is not for a ${name}: its state cannot be split`;
  if (limit % shards !== 0) {
    const below = limit - (limit % shards);
    return `does not divide ${limit} evenly, and some of it would never be admitted: ${below > 0 ? `${below} or ` : ''}${below + shards} would do`;
  }
  const { maxCost } = algorithm.share(shards, 1);
  if (typeof cost === 'number' && cost > maxCost)
    return `leaves ${maxCost} for a shard, in which cost ${cost} never fits`;
  return undefined;
}

const MAX_NAME = 64;

/** Whether `name` can name a policy. */
export function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length <= MAX_NAME && /^[\x20-\x7e]+$/.test(name);
}

import type { Algorithm } from '../algorithms/core/algorithm.js';
import { MAX_COUNT } from '../algorithms/core/options.js';
import { ON_MISSING_IDENTITY } from '../identity/identity.js';
import { shown } from '../util/config-error.js';
import { arePriorities, shownPriorities, WANTED_PRIORITIES } from './priorities.js';
import { oneOf, type OptionRule, whole } from '../util/option-rules.js';
import { thresholdsRule } from './thresholds.js';
import { BLOCK_FOR } from './block-for.js';
import { AT_EXPIRY, EXPIRES } from './expiry.js';
import type { CommonPolicyOptions, OnStoreFailure, PolicyMode, PolicyScope, QuotaUnit } from './policy.js';

/** The values of `onStoreFailure`; the first one is the default. */
export const STORE_FAILURES: readonly OnStoreFailure[] = ['local', 'open', 'closed'];

/** The values of `quotaUnit`; the first one is the default. */
const QUOTA_UNITS: readonly QuotaUnit[] = ['requests', 'content-bytes', 'concurrent-requests'];
const KINDS = ['client', 'ip', 'user', 'api-key', 'global'] as const;
const SCOPES: readonly PolicyScope[] = ['route', 'controller', 'app'];
const MODES: readonly PolicyMode[] = ['enforce', 'shadow'];
const MAX_NAME = 64;
/** The most shards: a Cluster rarely has more masters to spread them over. */
const MAX_SHARDS = 64;

/** Whether `name` can name a policy. */
export function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length <= MAX_NAME && /^[\x20-\x7e]+$/.test(name);
}

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The options of every policy, except `cost` and `overdraft`, whose range depends on the algorithm: each is declared here and
 * nowhere else.
 */
export const POLICY_OPTIONS = {
  name: { default: undefined, valid: isName, wanted: `1 to ${MAX_NAME} printable characters` },
  by: {
    default: 'client',
    valid: (value) => isFunction(value) || KINDS.includes(value as 'ip'),
    wanted: `one of ${KINDS.map(shown).join(', ')}, or a function`,
  },
  scope: oneOf(SCOPES, undefined),
  onStoreFailure: oneOf(STORE_FAILURES, undefined),
  onMissingIdentity: oneOf(ON_MISSING_IDENTITY, undefined),
  skipIf: { default: undefined, valid: isFunction, wanted: 'a function' },
  countIf: { default: undefined, valid: isFunction, wanted: 'a function' },
  settle: { default: undefined, valid: isFunction, wanted: 'a function' },
  expires: EXPIRES,
  atExpiry: AT_EXPIRY,
  shards: whole(1, 1, MAX_SHARDS),
  quotaUnit: oneOf(QUOTA_UNITS, 'requests'),
  plans: {
    default: undefined,
    valid: (value) => isObject(value) && Object.keys(value).every(isName),
    wanted: `an object of numbers by plan such as { pro: { ... } }, each name 1 to ${MAX_NAME} printable characters`,
  },
  priorities: {
    default: undefined,
    valid: (value) => arePriorities(value, isName),
    wanted: WANTED_PRIORITIES,
    got: shownPriorities,
  },
  priority: {
    default: undefined,
    valid: (value) => isName(value) || isFunction(value),
    wanted: 'the name of a class in priorities, or a function of the request that returns one',
  },
  else: {
    default: undefined,
    valid: isName,
    wanted: "the name of one in the option policies, such as 'credits'",
  },
  mode: oneOf(MODES, 'enforce'),
  blockFor: BLOCK_FOR,
  blockAfter: whole(1, 1, 1_000_000),
  thresholds: thresholdsRule,
} as const satisfies Record<Exclude<keyof CommonPolicyOptions, 'cost' | 'overdraft'>, OptionRule>;

/** The cost of a request to a policy that gives none. */
export const DEFAULT_COST = 1;

/** A cost has to fit ever, except where the limit is 0, and nothing does. */
export function costRule({ limit, maxCost: largest }: Algorithm): OptionRule {
  const maxCost = limit === 0 ? MAX_COUNT : largest;
  return {
    default: DEFAULT_COST,
    valid: (value) =>
      isFunction(value) || (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxCost),
    wanted: `a whole number from 0 to ${maxCost} (what can ever fit), or a function`,
  };
}

/** The rule of `overdraft`. By default settlements may exceed the limit by as much again, where that can be counted. */
export function overdraftRule({ limit, overdraft }: Algorithm): OptionRule {
  const max = overdraft?.max ?? 0;
  return whole(Math.min(limit, max), 0, max);
}

import { type OptionRule, shown } from 'floodgate/internal';
import {
  hasMethods,
  isFunction,
  isObject,
  isPolicyUse,
  LIMITER_OPTIONS,
  REQUEST_OPTIONS,
  whole,
  wrongMember,
} from 'floodgate/internal-boot';
import { readMiddleware, wrongMiddleware } from './middleware-settings.js';
import type { RateLimitModuleOptions } from './module-options.js';

const policyList: OptionRule = {
  default: [],
  valid: (value) => Array.isArray(value) && value.every(isNamed),
  wanted: 'an array of names, or of policies with a name',
  got: wrongMember((source) => (isNamed(source) ? undefined : 'a policy without a name')),
};

const middleware: OptionRule = {
  default: [],
  valid: (value) => (isObject(value) ? wrongMiddleware(value, wrongPolicies) === undefined : policyList.valid(value)),
  wanted:
    "an array of names, or of policies with a name; or { policies: [...], except: ['/healthz'] } with whole paths",
  got: (value) => (isObject(value) ? wrongMiddleware(value, wrongPolicies) : policyList.got!(value)),
  read: (value) => readMiddleware(value as Parameters<typeof readMiddleware>[0]),
};

/** Nest brings the logger. */
const { logger: _, ...OF_LIMITER } = LIMITER_OPTIONS;

/** The options of the module: each is declared here and nowhere else. A test compares docs/module.md with it. */
export const MODULE_OPTIONS = {
  ...OF_LIMITER,
  ...REQUEST_OPTIONS,
  defaults: policyList,
  middleware,
  contexts: {
    default: [],
    valid: (value) => Array.isArray(value) && value.every(isAdapter),
    wanted:
      'an array of ContextAdapters (objects with type, handlers, place, isHandler and request), each type once and not http',
    got: wrongMember(wrongAdapter),
  },
  plan: {
    default: undefined,
    valid: isObject,
    wanted: "an object such as { resolve: (request) => ..., cacheFor: '1m', fallback: 'free' }",
  },
  shed: {
    default: undefined,
    valid: isObject,
    wanted: "an object such as { classes: ['background'], eventLoopDelay: '100ms' }",
  },
  problem: {
    default: false,
    valid: (value) => typeof value === 'boolean' || isFunction(value),
    wanted: 'true, false, or a function that returns the members of the problem',
  },
  maxWaiting: whole(10_000, 1),
  maxWaitingPerClient: whole(100, 1),
} as const satisfies Record<keyof RateLimitModuleOptions, OptionRule>;

function wrongPolicies(policies: unknown): string | undefined {
  return policyList.valid(policies) ? undefined : (policyList.got!(policies) ?? shown(policies));
}

/** Whether a source has a name: policies without one could not be told apart. Names, uses of them and functions always have one. */
function isNamed(source: unknown): boolean {
  return !isObject(source) || 'choose' in source || isPolicyUse(source) || source.name !== undefined;
}

function wrongAdapter(value: unknown, i: number, all: readonly unknown[]): string | undefined {
  if (isAdapter(value, i, all)) return undefined;
  return isObject(value) && value.type !== undefined ? `type ${shown(value.type)}` : shown(value);
}

/** Whether a value is an adapter for `contexts`. `'http'` is not allowed, because the guard handles HTTP itself. */
function isAdapter(value: unknown, i: number, all: readonly unknown[]): boolean {
  if (!hasMethods(value, ['isHandler', 'request']) || !isObject(value)) return false;
  const { type, handlers, place } = value;
  const isOnly = all.findIndex((other) => isObject(other) && other.type === type) === i;
  const isPlace = place === 'controllers' || place === 'providers';
  return (
    typeof type === 'string' && type !== '' && type !== 'http' && typeof handlers === 'string' && isPlace && isOnly
  );
}

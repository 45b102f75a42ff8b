import type { ExecutionContext } from '@nestjs/common';
import { RateLimitConfigError } from 'floodgate';
import { checkNames, type OptionRule, type PlanSettings } from 'floodgate/internal';
import { durationToMicroseconds, isName, readOption } from 'floodgate/internal-boot';
import type { PlanOptions } from './module-options.js';

const WHERE = 'RateLimitModule, plan';
const MS = 1000;
const MAX_CACHE_FOR = 24 * 3_600_000 * MS;
/** The module gives up a call of `resolve` after this time. Microseconds. */
const MAX_TIMEOUT = 30_000 * MS;

const PLAN_OPTIONS = {
  resolve: {
    default: undefined,
    valid: (value) => typeof value === 'function',
    wanted: 'a function that returns the name of a plan, or numbers',
  },
  cacheFor: {
    default: '1m',
    valid: (value) => isWithin(value, MAX_CACHE_FOR),
    wanted: "milliseconds or a duration such as '1m', from 1 ms to 24 hours",
  },
  timeout: {
    default: '1s',
    valid: (value) => isWithin(value, MAX_TIMEOUT),
    wanted: "milliseconds or a duration such as '1s', from 1 ms to 30 s",
  },
  fallback: { default: undefined, valid: isName, wanted: 'the name of a plan' },
} as const satisfies Record<keyof PlanOptions, OptionRule>;

/** @throws {RateLimitConfigError} naming the option, what was given and what would be right */
export function planSettings(plan: PlanOptions): PlanSettings<ExecutionContext> {
  checkNames(plan, Object.keys(PLAN_OPTIONS), WHERE);
  const { resolve } = PLAN_OPTIONS;
  if (plan.resolve === undefined) {
    throw new RateLimitConfigError(WHERE, `resolve must be ${resolve.wanted}, got nothing`);
  }
  const read = (option: keyof PlanOptions): unknown => readOption(plan, option, PLAN_OPTIONS[option], WHERE);
  read('resolve');
  return {
    // A method of a service keeps its `this`.
    resolve: (request, context) => plan.resolve(request, context),
    cacheForMs: durationToMicroseconds(read('cacheFor'))! / MS,
    timeoutMs: durationToMicroseconds(read('timeout'))! / MS,
    fallback: read('fallback') as string | undefined,
  };
}

/** Whether a value is a duration from 1 ms to `max` microseconds. */
function isWithin(value: unknown, max: number): boolean {
  const duration = durationToMicroseconds(value) ?? 0;
  return duration >= MS && duration <= max;
}

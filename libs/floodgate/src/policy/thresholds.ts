import { shown } from '../util/config-error.js';
import { type OptionRule, wrongMember } from '../util/option-rules.js';

const MOST = 8;
/** Relative. A product such as 0.55 x 100, which is 55.00000000000001, may exceed a whole number by as much. */
const ROUNDING = 8 * Number.EPSILON;

/** The option `thresholds` of a policy. */
export const thresholdsRule = {
  default: undefined,
  valid: (value) =>
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= MOST &&
    value.every((level, i) => isNext(level, i, value)),
  wanted: `an array of 1 to ${MOST} parts of the limit, above 0 to 1, in ascending order, such as [0.8, 1]`,
  got: wrongMember((level, i, all) => (isNext(level, i, all) ? undefined : shown(level))),
} as const satisfies OptionRule;

/** The cost at which a level of a limit is reached: a whole number from 1. */
export function reachedAt(level: number, limit: number): number {
  const exact = level * limit;
  const near = Math.round(exact);
  return Math.max(1, Math.abs(exact - near) <= near * ROUNDING ? near : Math.ceil(exact));
}

function isNext(level: unknown, i: number, all: readonly unknown[]): boolean {
  return typeof level === 'number' && level > (i === 0 ? 0 : (all[i - 1] as number)) && level <= 1;
}

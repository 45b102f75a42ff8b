import { type AnyBlockAlgorithm, BlockAlgorithm } from '../algorithms/block/block.js';
import { EscalatingBlockAlgorithm } from '../algorithms/block/escalating-block.js';
import { shown } from '../util/config-error.js';
import { durationToMicroseconds } from '../util/duration.js';
import { type OptionRule, wrongMember } from '../util/option-rules.js';

/** 100 years in microseconds. */
const LONGEST = 3_155_760_000_000_000;
/** Half of it: the longest block of a list is remembered as long again, and its instants have to stay below 2^53. */
const LONGEST_OF_LIST = LONGEST / 2;
/** Microseconds. */
const SHORTEST = 1000;
/** The most durations of a list. */
const MAX_DURATIONS = 16;

/** The option `blockFor`. It is read as the durations in microseconds. */
export const BLOCK_FOR: OptionRule = {
  default: undefined,
  valid: (value) => (Array.isArray(value) ? wrongInList(value) === undefined : durationOf(value) !== undefined),
  wanted:
    `milliseconds or a duration such as '10m', from 1 ms to 100 years, or a list of 1 to ${MAX_DURATIONS} of them, each longer ` +
    `than the one before and none longer than 50 years, such as ['1m', '10m', '1h']`,
  got: (value) => (Array.isArray(value) ? wrongInList(value) : undefined),
  read: (value) => (value === undefined ? undefined : (Array.isArray(value) ? value : [value]).map(durationOf)),
};

/** A duration of a block in microseconds; undefined if it is none. */
function durationOf(value: unknown): number | undefined {
  const duration = durationToMicroseconds(value);
  return duration !== undefined && duration >= SHORTEST && duration <= LONGEST ? duration : undefined;
}

function wrongInList(list: readonly unknown[]): string | undefined {
  if (list.length === 0) return 'an empty list';
  if (list.length > MAX_DURATIONS) return `a list of ${list.length}`;
  return wrongDuration(list);
}

const wrongDuration = wrongMember((member, i, all) => {
  const duration = durationOf(member);
  if (duration === undefined || duration > LONGEST_OF_LIST) return shown(member);
  return i > 0 && duration <= durationOf(all[i - 1])! ? `${shown(member)} after ${shown(all[i - 1])}` : undefined;
});

/**
 * The block of a policy; undefined without one.
 *
 * @param given the policy's options
 * @param durations what `blockFor` was read as
 * @param after what `blockAfter` was read as
 * @param fail throws what is wrong
 */
export function blockOf(
  given: { readonly blockAfter?: unknown },
  durations: readonly number[] | undefined,
  after: number,
  fail: (problem: string) => never,
): AnyBlockAlgorithm | undefined {
  if (durations !== undefined) {
    // A single duration keeps nothing of a block that has ended: it costs less, and its keys are older than lists.
    return durations.length === 1
      ? new BlockAlgorithm(after, durations[0]!)
      : new EscalatingBlockAlgorithm(after, durations);
  }
  if (given.blockAfter === undefined) return undefined;
  return fail(`blockAfter has no effect without blockFor, got ${shown(given.blockAfter)}: add blockFor, such as '10m'`);
}

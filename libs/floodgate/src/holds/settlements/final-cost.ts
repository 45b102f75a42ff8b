import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Outcome } from '../../policy/outcome.js';
import { andThen, type Answer, answerOf } from '../../util/answer.js';
import { shown } from '../../util/config-error.js';
import type { UserFunctions } from '../../functions/user-functions.js';

const asCharged = (): undefined => undefined;

/** The final cost by `countIf` or `settle` of a policy; undefined keeps the charged cost, also if the function fails. */
export function finalCostByPolicy(
  functions: Pick<UserFunctions, 'call'>,
  { name, countIf, settle }: BoundPolicy,
  outcome: Outcome,
): Answer<number | undefined> {
  if (countIf !== undefined) {
    const counts = (): Answer<number | undefined> => andThen(answerOf(countIf(outcome)), costIfCounted);
    return functions.call('countIf', `countIf of policy '${name}' failed, the request counts`, counts, asCharged);
  }
  if (settle === undefined) return undefined;
  const settles = (): Answer<number | undefined> => andThen(answerOf(settle(outcome)), costIfKnown);
  return functions.call('settle', `settle of policy '${name}' failed, its cost stays`, settles, asCharged);
}

/** @throws {TypeError} when a function of the application returned no cost */
export function wholeCost(returned: unknown): number {
  if (Number.isSafeInteger(returned) && (returned as number) >= 0) return returned as number;
  throw new TypeError(`it must return a whole number from 0, got ${shown(returned)}`);
}

function costIfKnown(returned: unknown): number | undefined {
  return returned === null ? undefined : wholeCost(returned);
}

function costIfCounted(returned: unknown): number | undefined {
  if (typeof returned === 'boolean') return returned ? undefined : 0;
  throw new TypeError(`it must return true or false, got ${shown(returned)}`);
}

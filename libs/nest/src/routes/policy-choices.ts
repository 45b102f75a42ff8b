import { RateLimitConfigError } from 'floodgate';
import { checkNames, shown } from 'floodgate/internal';
import { whyNotBeside, withElse } from 'floodgate/internal-boot';
import type { BoundPolicy, PolicyChoice, PolicyFunction, PolicySource } from '../types.js';

/** What one source of policies gives for a request. */
export interface Choice {
  readonly policies: readonly BoundPolicy[];
  /** Whether these policies take the place of those of a function that failed. */
  readonly isFallback: boolean;
  /** Makes the policies that replace chosen ones which are wrong. Undefined if no function chose, or no policy can replace them. */
  readonly instead?: ((error: RateLimitConfigError) => Choice) | undefined;
}

/**
 * Replaces policies that functions chose and that conflict with others. A client may influence what a function returns, and
 * must not turn the route into an error.
 *
 * @param site where the policies stand, for messages
 */
export function withoutConflicts(choices: readonly Choice[], site: string): readonly Choice[] {
  const kept = choices.flatMap(({ policies, instead, isFallback }) =>
    instead === undefined && !isFallback ? policies : [],
  );
  return choices.map((choice) => {
    if (choice.instead === undefined) return choice;
    const conflict = choice.policies.find((policy) => kept.some((other) => !canStandTogether(policy, other)));
    if (conflict === undefined) {
      kept.push(...choice.policies);
      return choice;
    }
    const problem = `policy '${conflict.name}' cannot stand beside the other policies of the request`;
    return choice.instead(new RateLimitConfigError(site, problem, 'FG_POLICIES_TOGETHER'));
  });
}

/**
 * The policies of a request, in their order. A fallback is dropped when it conflicts with another policy: functions that
 * fail together must not turn into an error.
 */
export function standingTogether(choices: readonly Choice[]): BoundPolicy[] {
  const kept = choices.flatMap(({ policies, isFallback }) => (isFallback ? [] : policies));
  return choices.flatMap(({ policies, isFallback }) => {
    if (!isFallback) return policies;
    const beside = policies.filter((policy) => kept.every((other) => canStandTogether(policy, other)));
    kept.push(...beside);
    return beside;
  });
}

/** Whether two policies pass `checkTogether`. */
export function canStandTogether(one: BoundPolicy, other: BoundPolicy): boolean {
  const names = withElse([other]).map(({ name }) => name);
  const isApart = withElse([one]).every(({ name }) => !names.includes(name));
  return isApart && whyNotBeside(one, other) === undefined;
}

/** Whether a function chooses the policy. */
export function isChooser(source: PolicySource): source is PolicyFunction | PolicyChoice {
  if (typeof source === 'function') return true;
  return typeof source === 'object' && source !== null && 'choose' in source;
}

/** @throws {RateLimitConfigError} for an option that is wrong or unknown */
export function checkChoice(source: PolicyFunction | PolicyChoice, where: string): PolicyChoice {
  if (typeof source === 'function') return { choose: source };
  checkNames(source, ['choose', 'fallback'], where, 'a policy function');
  const { choose, fallback } = source;
  if (typeof choose !== 'function') {
    throw new RateLimitConfigError(
      where,
      `choose must be a function that returns a policy or a name, got ${shown(choose)}`,
      'FG_INVALID_POLICY',
    );
  }
  if (typeof fallback === 'function') {
    throw new RateLimitConfigError(
      where,
      'fallback must be a policy or the name of one, got a function',
      'FG_INVALID_POLICY',
    );
  }
  return source;
}

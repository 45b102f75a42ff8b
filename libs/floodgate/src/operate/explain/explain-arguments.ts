import type { BoundPolicy } from '../../policy/bound-policy.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { didYouMean } from '../../util/nearest-name.js';

/** @throws {RateLimitConfigError} for a class that none of the policies has */
export function checkExplainedPriority(priority: unknown, policies: readonly BoundPolicy[], where: string): void {
  if (priority === undefined) return;
  const classes = [...new Set(policies.flatMap(({ priorities }) => [...(priorities?.keys() ?? [])]))];
  if (classes.includes(priority as string)) return;
  if (classes.length > 0) {
    throw new RateLimitConfigError(
      where,
      `priority must be a class of one of the policies (${classes.map(shown).join(', ')}), got ${shown(priority)}${didYouMean(priority, classes)}`,
    );
  }
  throw new RateLimitConfigError(
    where,
    `priority has no effect, because none of the policies has priorities, got ${shown(priority)}`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

import type { ParsedPolicy } from '../../policy/parse-policy.js';
import { shown } from '../../util/config-error.js';

type Known = Pick<ParsedPolicy, 'name' | 'thresholds' | 'shadow'>;

/**
 * What lacks for thresholds to have an effect: the option `onThreshold`, or a policy with `thresholds`. Undefined if nothing does.
 *
 * @param hasChoosers whether functions choose policies that are not among `policies`
 */
export function idleThresholds(
  policies: Iterable<Known>,
  { onThreshold }: { readonly onThreshold?: unknown },
  hasChoosers: boolean,
): string | undefined {
  // The policy itself is warned of a shadow.
  const names = new Set(
    Array.from(policies).flatMap(({ name, thresholds, shadow }) => (thresholds && !shadow ? name : [])),
  );
  if (names.size > 0 && onThreshold === undefined) {
    const all = [...names].map(shown).join(', ');
    return `thresholds of ${all} have no effect without onThreshold: give it, or leave them out`;
  }
  if (names.size > 0 || onThreshold === undefined || hasChoosers) return undefined;
  return (
    'onThreshold has no effect, because no policy that is known at boot has thresholds: give one of them thresholds: [0.8, 1], or leave ' +
    'onThreshold out'
  );
}

import { getHeapStatistics } from 'node:v8';
import { shown } from 'floodgate/internal';
import { didYouMean } from 'floodgate/internal-boot';
import type { CheckedShed } from '../options/shed-settings.js';

/**
 * Warnings about a `shed` of the module that can have no effect.
 *
 * @param canShed whether requests of some handler can be rejected
 * @param known the classes of the policies of all handlers
 */
export function shedWarnings(
  { classes, thresholds, priority, beforeRouting }: CheckedShed,
  canShed: boolean,
  known: ReadonlySet<string>,
): string[] {
  const { heapUsed } = thresholds;
  const warnings: string[] = [];
  if (!canShed && !beforeRouting) {
    const how =
      priority === undefined
        ? 'no policy gives its requests one of the classes that give way: give shed a priority, or give policies one'
        : 'no handler behind the guard is without @SkipRateLimit()';
    warnings.push(`RateLimitModule, shed: no request can ever be shed, because ${how}`);
  }
  // A priority of shed itself is among the classes, or a function that may return any.
  const unknown = priority === undefined && known.size > 0 ? classes.filter((name) => !known.has(name)) : [];
  for (const name of unknown) {
    warnings.push(
      `RateLimitModule, shed: no policy has the class ${shown(name)}, so no request of it can be shed.${didYouMean(name, known)}`,
    );
  }
  const limit = getHeapStatistics().heap_size_limit;
  if (heapUsed !== undefined && heapUsed >= limit) {
    warnings.push(
      `RateLimitModule, shed: heapUsed: ${heapUsed} is never reached, because the heap of this process ends at ${limit} bytes: give ` +
        'less, or start Node with a larger --max-old-space-size',
    );
  }
  return warnings;
}

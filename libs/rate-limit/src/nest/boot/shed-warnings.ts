import { getHeapStatistics } from 'node:v8';
import type { CheckedShed } from '../options/shed-settings.js';

/**
 * Warnings about a `shed` of the module that can have no effect.
 *
 * @param canShed whether requests of some handler can be rejected
 */
export function shedWarnings({ thresholds, priority, beforeRouting }: CheckedShed, canShed: boolean): string[] {
  const { heapUsed } = thresholds;
  const warnings: string[] = [];
  if (!canShed && !beforeRouting) {
    const how =
      priority === undefined
        ? 'no policy gives its requests one of the classes that give way: give shed a priority, or give policies one'
        : 'no handler behind the guard is without @SkipRateLimit()';
    warnings.push(`RateLimitModule, shed: no request can ever be shed, because ${how}`);
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

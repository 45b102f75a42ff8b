import type { TokenBucketPolicy } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';

/** The name of the policy that all routes share whose requests matching has to work for. */
export const MATCHING_LIMIT = 'matching';

/**
 * What matching can hold, for everybody together. Riders' own limits do not protect it: a thousand riders who each stay below
 * theirs are a thousand times as much. Stands beside them, in the same step, so that whom one refuses costs the other nothing.
 */
export function matchingLimit({ matchingLimit: limit, rateLimit }: Configuration): TokenBucketPolicy {
  return {
    algorithm: 'token-bucket',
    capacity: limit.burst,
    refill: limit.perSecond,
    by: 'global',
    scope: 'app',
    ...(rateLimit === 'riders' && { skipIf: () => true }),
  };
}

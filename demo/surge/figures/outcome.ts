import type { Answer } from '../../riders/index.js';

export type Outcome = 'served' | 'rejected' | 'failed';

/**
 * What a rider got: a 2xx is served, a 429 is rejected, and everything else has failed.
 *
 * A request that the limiter let pass and that failed later is not served.
 */
export function outcomeOf({ status }: Answer): Outcome {
  if (status === 429) return 'rejected';
  return status >= 200 && status < 300 ? 'served' : 'failed';
}

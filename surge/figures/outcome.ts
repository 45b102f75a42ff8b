import type { Answer } from '../../src/riders/index.js';

export type Outcome = 'allowed' | 'rejected' | 'failed';

/** The outcome of a request: a 429 is rejected, every other status but 2xx is failed. */
export function outcomeOf({ status }: Answer): Outcome {
  if (status === 429) return 'rejected';
  return status >= 200 && status < 300 ? 'allowed' : 'failed';
}

import type { Answer } from '../../src/riders/index.js';

export type Outcome = 'allowed' | 'rejected' | 'failed';

/** A refusal is an answer; all else but success is a failure. */
export function outcomeOf({ status }: Answer): Outcome {
  if (status === 429) return 'rejected';
  return status >= 200 && status < 300 ? 'allowed' : 'failed';
}

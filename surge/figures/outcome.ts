import type { Answer } from '../riders/crowd.js';

export type Outcome = 'allowed' | 'refused' | 'failed';

/** A refusal is an answer; all else but success is a failure. */
export function outcomeOf({ status }: Answer): Outcome {
  if (status === 429) return 'refused';
  return status >= 200 && status < 300 ? 'allowed' : 'failed';
}

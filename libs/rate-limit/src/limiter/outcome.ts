import type { Outcome } from '../policy/outcome.js';

/** What waits for the end of a request. */
export interface OutcomeListener {
  /** Called once the end is certain to be told: at once for HTTP, and elsewhere when the handler is called. */
  readonly began?: () => void;
  /** Called once. */
  readonly ended: (outcome: Outcome) => void;
}

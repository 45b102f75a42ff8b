import type { Decision } from '../../policy/decision.js';

/** The property of a request that has its record. */
export const RECORD = Symbol('rate limit');

/** A request. The guard or the middleware gives it a record. */
export interface RecordedRequest<Record extends Passed = Passed> {
  [RECORD]?: Record;
}

/** What a request has passed so far. */
export interface Passed {
  passedBy(): Decision | undefined;
}

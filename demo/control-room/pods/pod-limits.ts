/** What the pods and the page's process both know about the limit of a rider. */
export const POD_LIMIT = {
  capacity: 20,
  /** Slow, so that a burst of a new rider lets the capacity pass and hardly ever one more. */
  refillPerMinute: 20,
} as const;

/** The header that says what decided: `store`, or `local` for the pod's share of the limit. */
export const DECIDED_BY = 'x-decided-by';

const MAX_BACKOFF_MS = 250;

/** Milliseconds before the next attempt to connect: random, so that processes do not come back together. */
export function backoff(attempt: number): number {
  return Math.random() * Math.min(MAX_BACKOFF_MS, attempt * 50);
}

import { readAnswer } from '../../util/responses/read-response.js';
import type { ReadHeader } from '../../util/responses/statements.js';

/** Milliseconds of the pause after a 429 that does not say when to come again. */
const UNTOLD_MS = 1000;

/**
 * How long an answer asks the caller to send nothing, in milliseconds; 0: not at all. A 429 and a 503 say it by `Retry-After` or
 * their fields, any other answer by `RateLimit` or `X-RateLimit-*` with nothing remaining.
 */
export function pauseOfAnswer(status: number, header: ReadHeader, preemptive: boolean): number {
  const told = readAnswer({ status, header, body: undefined }, { preemptive, wallNow: Date.now });
  if (status === 429 || status === 503) return told?.retryAfterMs ?? (status === 429 ? UNTOLD_MS : 0);
  const waits = (told?.statements ?? []).flatMap(({ remaining, moreAfterMs, allAfterMs, estimated }) =>
    remaining === 0 && estimated !== true ? [moreAfterMs ?? allAfterMs ?? 0] : [],
  );
  return Math.max(0, ...waits);
}

import type { LimiterPolicy } from '../engine/calls/call-policies.js';
import type { RateLimiter } from '../limiter/rate-limiter.js';
import { LONGEST_PAUSE_MS } from '../layers/pauses/longest-pause.js';
import type { Identity } from '../identity/identity.js';
import { readAnswer } from '../util/responses/read-response.js';
import type { ReadHeader } from '../util/responses/statements.js';

/** Milliseconds of the pause after a 429 that does not say when to come again, or says 0. */
const DEFAULT_PAUSE_MS = 1000;

/** What is paused by the answers of a partner. */
export interface PausedByAnswers {
  readonly limiter: Pick<RateLimiter, 'pause'>;
  readonly policies: LimiterPolicy | readonly LimiterPolicy[];
  readonly preemptive: boolean;
  readonly maxPauseMs: number;
}

/** Pauses the policies as an answer asks. The answer does not wait for it: this process pauses at once. */
export function pauseFor(
  { limiter, policies, preemptive, maxPauseMs }: PausedByAnswers,
  identity: Identity | null,
  status: number,
  header: ReadHeader,
): void {
  const ms = Math.min(pauseOfAnswer(status, header, preemptive), maxPauseMs, LONGEST_PAUSE_MS);
  // A failure has no caller that could handle it. The partner's next answer pauses again.
  if (ms > 0) limiter.pause(policies, identity, { for: ms }).catch(() => undefined);
}

/**
 * How long an answer asks the caller to send nothing, in milliseconds; 0: not at all. A 429 and a 503 say it by `Retry-After` or
 * their fields, any other answer by `RateLimit` or `X-RateLimit-*` with nothing remaining.
 */
function pauseOfAnswer(status: number, header: ReadHeader, preemptive: boolean): number {
  const answer = readAnswer({ status, header, body: undefined }, { preemptive, wallNow: Date.now });
  if (status === 429) return answer?.retryAfterMs || DEFAULT_PAUSE_MS;
  if (status === 503) return answer?.retryAfterMs ?? 0;
  const waits = (answer?.statements ?? []).flatMap(({ remaining, moreAfterMs, allAfterMs, estimated }) =>
    remaining === 0 && estimated !== true ? [moreAfterMs ?? allAfterMs ?? 0] : [],
  );
  return Math.max(0, ...waits);
}

import type { Decision } from '../policy/decision.js';
import type { ClockOffset } from './headers/clock-offset.js';
import { draftHeaders } from './headers/draft.js';
import type { Header } from './headers/header.js';
import { throttlerHeaders } from './headers/throttler.js';
import { xRateLimitHeaders } from './headers/x-ratelimit.js';

export type { Header } from './headers/header.js';
export { retryAfterSeconds } from './headers/retry-after.js';

/** The formats in which responses say what is left of the limits. */
export const HEADER_FORMATS = ['x-ratelimit', 'draft', 'both', 'throttler'] as const;

/** See the module's option `headers`. */
export type HeaderFormat = (typeof HEADER_FORMATS)[number];

/** The settings of the headers of a decision. */
export interface HeaderSettings {
  readonly headers: HeaderFormat | false;
  /** Of the application's clock to the store's, as far as its decisions have shown it. */
  readonly offset: ClockOffset;
}

/**
 * The headers of a decision, which must have a policy.
 *
 * @param receivedAtMs milliseconds of the application's wall clock when the decision arrived
 */
export function decisionHeaders(
  decision: Decision,
  receivedAtMs: number,
  { headers, offset }: HeaderSettings,
): readonly Header[] {
  if (headers === 'x-ratelimit') return xRateLimitHeaders(decision, receivedAtMs, offset);
  if (headers === 'draft') return draftHeaders(decision);
  if (headers === 'throttler') return throttlerHeaders(decision);
  if (headers === false) return [];
  return [...xRateLimitHeaders(decision, receivedAtMs, offset), ...draftHeaders(decision)];
}

/** Whether the format has what `RateLimit-Policy` and `RateLimit` alone can say: quota units. */
export function saysUnits(format: HeaderFormat | false): boolean {
  return format === 'draft' || format === 'both';
}

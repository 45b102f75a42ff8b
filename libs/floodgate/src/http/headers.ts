import type { Decision } from '../policy/decision.js';
import type { ClockOffset } from './headers/clock-offset.js';
import { draftHeaders } from './headers/draft-11.js';
import type { Header } from './headers/header.js';
import { throttlerHeaders } from './headers/throttler.js';
import { xRateLimitHeaders } from './headers/x-ratelimit.js';

export type { Header } from './headers/header.js';
export { retryAfterSeconds } from './headers/retry-after.js';

type WriteHeaders = (decision: Decision, receivedAtMs: number, offset: ClockOffset) => readonly Header[];

/** The formats in which responses say what is left of the limits. A revision of the draft is another row. */
const FORMATS = {
  'x-ratelimit': xRateLimitHeaders,
  'draft-11': draftHeaders,
  'x-ratelimit+draft-11': (decision, receivedAtMs, offset) => [
    ...xRateLimitHeaders(decision, receivedAtMs, offset),
    ...draftHeaders(decision),
  ],
  throttler: throttlerHeaders,
} satisfies Record<string, WriteHeaders>;

/** See the module's option `headers`. */
export type HeaderFormat = keyof typeof FORMATS;

export const HEADER_FORMATS = Object.keys(FORMATS) as readonly HeaderFormat[];

/** The settings of the headers of a decision. */
export interface HeaderSettings {
  readonly headers: HeaderFormat | false;
  /** The difference between the application's clock and the store's, as far as decisions have shown it. */
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
  return headers === false ? [] : FORMATS[headers](decision, receivedAtMs, offset);
}

/** The formats that have `RateLimit-Policy` and `RateLimit`, which alone can say quota units. */
export const FORMATS_WITH_UNITS: readonly (HeaderFormat | false)[] = ['draft-11', 'x-ratelimit+draft-11'];

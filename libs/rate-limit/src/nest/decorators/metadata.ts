import type { PolicySource } from '../types.js';

/** One key for both decorators: the nearest wins, whichever it is. */
export const RATE_LIMIT = 'nestjs-floodgate:rate-limit';

/** What `@SkipRateLimit` leaves: no policies, not even the defaults. */
export const SKIPPED: readonly PolicySource[] = Object.freeze([]);

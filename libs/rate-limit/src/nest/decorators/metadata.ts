import type { PolicySource } from '../types.js';

/** Both decorators use one key, so that the nearest decorator wins. */
export const RATE_LIMIT = 'nestjs-floodgate:rate-limit';

/** The metadata of `@SkipRateLimit`: no policies, not even the defaults. */
export const SKIPPED: readonly PolicySource[] = Object.freeze([]);

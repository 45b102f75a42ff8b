/** The names of the format `'x-ratelimit'`. */
export const X_RATE_LIMIT = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** Says that what the others say may become better at any time. */
export const X_RATE_LIMIT_ESTIMATED = 'X-RateLimit-Estimated';

/** The names of the draft's fields. */
export const DRAFT = ['RateLimit-Policy', 'RateLimit'] as const;

/**
 * The names of the headers that responses may have, of all formats but `'throttler'`, for the CORS option `exposedHeaders`. A script
 * of another origin reads only the headers that this option names. A name that is never sent does no harm.
 *
 * @example app.enableCors({ exposedHeaders: [...RATE_LIMIT_HEADERS] })
 */
export const RATE_LIMIT_HEADERS: readonly string[] = Object.freeze([
  'Retry-After',
  ...X_RATE_LIMIT,
  X_RATE_LIMIT_ESTIMATED,
  ...DRAFT,
]);

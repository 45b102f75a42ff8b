// Milliseconds, the unit of `ttl` and `blockDuration`.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** Milliseconds of a number of seconds, for `ttl` and `blockDuration`. */
export const seconds = (count: number): number => count * SECOND;

/** Milliseconds of a number of minutes. */
export const minutes = (count: number): number => count * MINUTE;

/** Milliseconds of a number of hours. */
export const hours = (count: number): number => count * HOUR;

/** Milliseconds of a number of days. */
export const days = (count: number): number => count * DAY;

/** Milliseconds of a number of weeks. */
export const weeks = (count: number): number => count * WEEK;

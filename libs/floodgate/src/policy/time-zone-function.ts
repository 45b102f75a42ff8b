import type { TimeZoneFunction } from './policy.js';

/** The function that says the time zone of a calendar window; undefined for any other `window`. */
export function timeZoneFunction<Context>(window: unknown): TimeZoneFunction<Context> | undefined {
  if (typeof window !== 'object' || window === null) return undefined;
  const { timeZone } = window as { readonly timeZone?: unknown };
  return typeof timeZone === 'function' ? (timeZone as TimeZoneFunction<Context>) : undefined;
}

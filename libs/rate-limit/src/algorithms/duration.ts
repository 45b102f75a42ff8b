import ms from 'ms';

/** A length of time: milliseconds, or text such as `'500ms'`, `'1m'`, `'24h'`. */
export type Duration = number | string;

/** Converts a duration to whole microseconds; undefined if it is not a positive number of them. */
export function durationToMicroseconds(duration: unknown): number | undefined {
  const milliseconds = typeof duration === 'string' ? parse(duration) : duration;
  if (typeof milliseconds !== 'number') return undefined;
  const microseconds = milliseconds * 1000;
  return Number.isSafeInteger(microseconds) && microseconds > 0 ? microseconds : undefined;
}

function parse(text: string): number | undefined {
  try {
    return /^\s*-?[\d.]+\s*$/.test(text) ? undefined : ms(text as ms.StringValue); // '60' lacks a unit
  } catch {
    return undefined; // ms throws for empty and overlong text
  }
}

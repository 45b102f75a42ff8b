import ms from 'ms';

/** A length of time: whole milliseconds, or text such as `'500ms'`, `'1m'`, `'24h'`. */
export type Duration = number | string;

/** @returns whole microseconds, or undefined when it is not a positive length of time in whole microseconds */
export function durationToMicroseconds(duration: unknown): number | undefined {
  const milliseconds = typeof duration === 'string' ? parse(duration) : duration;
  if (typeof milliseconds !== 'number') return undefined;
  const microseconds = milliseconds * 1000;
  return Number.isSafeInteger(microseconds) && microseconds > 0 ? microseconds : undefined;
}

function parse(text: string): number | undefined {
  try {
    return /^\s*-?[\d.]+\s*$/.test(text) ? undefined : ms(text as ms.StringValue); // '60' of what?
  } catch {
    return undefined; // ms throws on empty and on overlong text
  }
}

import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

/** Microseconds, exact to three digits. */
export function newTimes(): Histogram {
  return build({ highestTrackableValue: 1_000_000_000, numberOfSignificantValueDigits: 3 });
}

/** Encodes times as text for another process. */
export function encodedTimes(times: Histogram): string {
  return encodeIntoCompressedBase64(times);
}

/** Adds the times of several processes. */
export function allTimes(encoded: readonly string[]): Histogram {
  const times = newTimes();
  for (const text of encoded) times.add(decodeFromCompressedBase64(text));
  return times;
}

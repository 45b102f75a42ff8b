import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

/** Of microseconds, three digits exact. */
export function newTimes(): Histogram {
  return build({ highestTrackableValue: 1_000_000_000, numberOfSignificantValueDigits: 3 });
}

/** As text, for another process. */
export function encodedTimes(times: Histogram): string {
  return encodeIntoCompressedBase64(times);
}

/** Several processes' times together. */
export function allTimes(encoded: readonly string[]): Histogram {
  const times = newTimes();
  for (const text of encoded) times.add(decodeFromCompressedBase64(text));
  return times;
}

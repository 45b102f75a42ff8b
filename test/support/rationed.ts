import { expect } from '@jest/globals';

/**
 * Expects what is logged once a second at most: one warning at least, and one more at most for each second that has passed. A busy
 * machine may take longer than a second for a test's requests.
 *
 * @param since `performance.now()` before the first request
 * @returns the first warning
 */
export function expectRationed(warnings: readonly string[], since: number): string {
  expect(warnings.length).toBeGreaterThanOrEqual(1);
  expect(warnings.length).toBeLessThanOrEqual(1 + Math.floor((performance.now() - since) / 1000));
  return warnings[0]!;
}

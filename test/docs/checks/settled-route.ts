import { expect } from '@jest/globals';
import { until } from '../../support/faults/until.js';
import { type HttpApp, left } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  expect(left(await app.send('/probe/summary'))).toBe(8_000);
  // After the settlement 150 are charged, and the next request reserves 2,000 again.
  await until('the settlement', 5_000, async () => left(await app.send('/probe/summary')) > 7_000);
}

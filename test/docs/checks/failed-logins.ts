import { expect } from '@jest/globals';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  for (let i = 0; i < 7; i++) {
    expect((await app.send('/probe/login?password=abc')).status).toBe(200);
    // The refund follows the response.
    await until('a refund', 5_000, async () => (await app.send('/probe/login?password=abc')).status === 200);
  }
  const guesses = await Promise.all(Array.from({ length: 40 }, () => app.send('/probe/login?password=x')));
  const statuses = guesses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(5);
  await until('the limit', 5_000, async () => (await app.send('/probe/login?password=x')).status === 429);
}

import { readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { until } from '../../support/faults/until.js';
import { type HttpApp, left } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  const first = await app.send('/probe/export');
  const bytes = readFileSync('package.json').length;
  expect([first.text.length > 100, left(first)]).toEqual([true, 9_000_000]);
  let requests = 1;
  await until('the bytes that were sent', 5_000, async () => {
    const remaining = left(await app.send('/probe/export'));
    return remaining === 9_000_000 - bytes * requests++;
  });
}

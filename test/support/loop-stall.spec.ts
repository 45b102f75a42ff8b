import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { stallOf } from './loop-stall.js';

it('sees work that keeps the event loop', async () => {
  const { result, stallMs } = await stallOf(async () => {
    await turn();
    const until = performance.now() + 300;
    while (performance.now() < until);
    await turn();
    await turn();
    return 7;
  });
  expect(result).toBe(7);
  expect(stallMs).toBeGreaterThan(250);
});

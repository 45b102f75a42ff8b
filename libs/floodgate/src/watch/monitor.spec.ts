import { expect, it } from '@jest/globals';
import { Monitor } from './monitor.js';

it('counts the requests that ran over by both policies, and bounds their names', () => {
  const monitor = new Monitor({}, console);
  for (let i = 0; i < 2_000; i++) monitor.ranOver(`of-${i}`, 'credits');
  const { runOver } = monitor.stats();
  expect(runOver[0]).toEqual({ policy: 'of-0', to: 'credits', requests: 1 });
  expect(runOver.length).toBeLessThanOrEqual(1_001);
  expect(runOver.at(-1)).toMatchObject({ policy: 'other', to: 'other' });
  expect(runOver.reduce((sum, { requests }) => sum + requests, 0)).toBe(2_000);
});

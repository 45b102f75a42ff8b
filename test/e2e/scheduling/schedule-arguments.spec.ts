import { expect, it } from '@jest/globals';
import { open } from './support/scheduled-calls.js';

it.each<[readonly unknown[], string]>([
  [['partner'], 'fn must be a function, got undefined'],
  [['partner', null, 7], 'fn must be a function, got 7'],
  [['partner', () => 1, { cost: 0 }], 'cost must be a whole number from 1, or a function of the result, got 0'],
  [['partner', () => 1, { cost: 1.5 }], 'cost must be a whole number from 1'],
  [['partner', () => 1, { estimate: 5 }], 'estimate has no effect without a cost that is a function'],
  [['partner', () => 1, { cost: () => 1, estimate: 0 }], 'estimate must be a whole number from 1, got 0'],
  [['partner', () => 1, { maxWaitMs: -1 }], 'maxWaitMs must be milliseconds from 0, or Infinity, got -1'],
  [['partner', () => 1, { maxWaitMs: '5s' }], "maxWaitMs must be milliseconds from 0, or Infinity, got '5s'"],
  [['partner', () => 1, { signal: {} }], 'signal must be an AbortSignal, got an object'],
  [['partner', () => 1, { maxwait: 1 }], "'maxwait' is not an option of RateLimiter.schedule"],
  [['user', () => 1], "policy 'user' counts an identity"],
  [['slots', () => 1, { cost: () => 1 }], "'slots' has leases, which are released"],
  [['nobody', () => 1], "there is no policy named 'nobody'"],
])('tells what is wrong with schedule(%j)', async (args, problem) => {
  await using opened = await open();
  const { limiter, store } = opened;
  const schedule = limiter.schedule.bind(limiter) as (...given: readonly unknown[]) => Promise<unknown>;
  await expect(schedule(...args)).rejects.toThrow(problem);
  expect(store.questions).toBe(0);
});

import { expect, it } from '@jest/globals';
import { Monitor } from './monitor.js';
import { libraryMetrics } from './prometheus.js';

const overrides = { count: 0, loaded: true };
const tokenLeases = { leased: 5, returned: 2, expired: 1 };
const stats = (monitor: Monitor) => ({ ...monitor.stats(), waiting: 0, memoryOverflows: 0, tokenLeases, overrides });

it('sums the failures of functions over the limiters of a process, by kind', async () => {
  const monitors = [new Monitor({}, console), new Monitor({}, console)];
  const metrics = libraryMetrics(() => monitors.map(stats));
  const failures = metrics.find(({ id }) => id === 'rate_limiter_function_failures_total')!;
  monitors[0]!.functionFailed('cost');
  monitors[0]!.functionFailed('cost');
  monitors[1]!.functionFailed('cost');
  monitors[1]!.functionFailed('policy');
  const { values, type } = await failures.get();
  expect(type).toBe('counter');
  expect(Object.fromEntries(values.map(({ labels, value }) => [labels.function, value]))).toEqual({
    policy: 1,
    identity: 0,
    cost: 3,
    skipIf: 0,
    timeZone: 0,
    countIf: 0,
    settle: 0,
    problem: 0,
    plan: 0,
    list: 0,
  });
});

it('sums the plans that were looked for, by where they came from', async () => {
  const monitors = [new Monitor({}, console), new Monitor({}, console)];
  const metrics = libraryMetrics(() => monitors.map(stats));
  const lookups = metrics.find(({ id }) => id === 'rate_limiter_plan_lookups_total')!;
  for (const source of ['cache', 'cache', 'lastKnown', 'fallback'] as const) monitors[0]!.planFound(source);
  for (const source of ['cache', 'resolver'] as const) monitors[1]!.planFound(source);
  const { values } = await lookups.get();
  expect(values.map(({ labels, value }) => [labels.source, value])).toEqual([
    ['cache', 3],
    ['resolver', 1],
    ['last-known', 1],
    ['fallback', 1],
  ]);
});

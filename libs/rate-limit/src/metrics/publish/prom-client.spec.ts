import { expect, it } from '@jest/globals';
import { bindPolicy } from '../../policy/bound-policy.js';
import type { Decision } from '../../policy/decision.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import { chargeOf } from '../../engine/policy-charge.js';
import { Monitor } from '../monitor.js';
import { libraryMetrics } from './prom-client.js';

const overrides = { count: 0, loaded: true };
const POLICY = {
  name: 'hot',
  algorithm: 'token-bucket',
  capacity: 100,
  refill: 10,
  prefetch: { for: '1s', max: 10 },
} as const;
const CHARGE = chargeOf(bindPolicy(parsePolicy(POLICY, 'test'), 'rl', 'app', 'test'), 'rl', 'user:ada', 1, 'take');
const prefetch = { prefetched: 5, returned: 2, expired: 1 };
const scheduled = [
  { policy: 'partner', waiting: 3, atOnce: 4, waited: 5, late: 6, aborted: 7, full: 8, closed: 9, failed: 10 },
];
const stats = (monitor: Monitor) => ({
  ...monitor.stats(),
  waiting: 0,
  scheduled,
  reservations: { open: 0, rejected: 0, untimed: 0 },
  leases: [],
  shedding: undefined,
  memoryOverflows: 0,
  prefetch,
  overrides,
});

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
    priority: 0,
    skipIf: 0,
    timeZone: 0,
    countIf: 0,
    settle: 0,
    problem: 0,
    plan: 0,
    list: 0,
    shed: 0,
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

it('sums the requests that ran over, by both policies, and bounds the names', async () => {
  const monitors = [new Monitor({}, console), new Monitor({}, console)];
  const metrics = libraryMetrics(() => monitors.map(stats));
  const ranOver = metrics.find(({ id }) => id === 'rate_limiter_run_over_total')!;
  for (const monitor of monitors) monitor.ranOver('monthly', 'credits');
  monitors[1]!.ranOver('monthly', 'loan');
  const { values, type } = await ranOver.get();
  expect(type).toBe('counter');
  expect(values.map(({ labels, value }) => [labels.policy, labels.to, value])).toEqual([
    ['monthly', 'credits', 2],
    ['monthly', 'loan', 1],
  ]);
  for (let i = 0; i < 2_000; i++) monitors[0]!.ranOver(`of-${i}`, 'credits');
  const { runOver } = monitors[0]!.stats();
  expect(runOver.length).toBeLessThanOrEqual(1_001);
  expect(runOver.at(-1)).toMatchObject({ policy: 'other', to: 'other' });
  expect(runOver.reduce((sum, { requests }) => sum + requests, 0)).toBe(2_001);
});

it('sums the scheduled calls, by policy and result', async () => {
  const monitors = [new Monitor({}, console), new Monitor({}, console)];
  const metrics = libraryMetrics(() => monitors.map(stats));
  const waiting = await metrics.find(({ id }) => id === 'rate_limiter_scheduled_waiting')!.get();
  expect(waiting).toMatchObject({ type: 'gauge', aggregator: 'sum' });
  expect(waiting.values).toEqual([{ value: 6, labels: { policy: 'partner' } }]);
  const { values, type } = await metrics.find(({ id }) => id === 'rate_limiter_scheduled_total')!.get();
  expect(type).toBe('counter');
  expect(values.map(({ labels, value }) => [labels.policy, labels.result, value])).toEqual([
    ['partner', 'at-once', 8],
    ['partner', 'waited', 10],
    ['partner', 'late', 12],
    ['partner', 'aborted', 14],
    ['partner', 'full', 16],
    ['partner', 'closed', 18],
    ['partner', 'failed', 20],
  ]);
});

it('sums the prefetched tokens over the limiters of a process, and the requests that they paid', async () => {
  const monitors = [new Monitor({}, console), new Monitor({}, console)];
  const metrics = libraryMetrics(() => monitors.map(stats));
  const prefetched = metrics.find(({ id }) => id === 'rate_limiter_prefetched_tokens_total')!;
  const { values, type } = await prefetched.get();
  expect(type).toBe('counter');
  expect(values.map(({ labels, value }) => [labels.state, value])).toEqual([
    ['prefetched', 10],
    ['returned', 4],
    ['expired', 2],
  ]);
  const decisions = metrics.find(({ id }) => id === 'rate_limiter_prefetch_decisions_total')!;
  const decision: Decision = {
    allowed: true,
    decidedBy: 'prefetch',
    policies: [],
    retryAfterMs: 0,
    delayMs: 0,
    decidedAtMs: 0,
  };
  for (const monitor of monitors) monitor.decided([CHARGE], decision, 'prefetch', undefined, 0);
  expect((await decisions.get()).values).toEqual([{ value: 2, labels: {} }]);
});

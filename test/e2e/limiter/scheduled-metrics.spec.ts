import { describe, expect, it } from '@jest/globals';
import {
  type DecisionEvent,
  type Identity,
  type Policy,
  RateLimiter,
  RateLimitMetricsModule,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitStats,
} from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { Registry } from 'prom-client';
import { Exposition } from '../../support/exposition.js';
import { start } from '../../support/http-app.js';
import { pass, turns } from '../scheduling/support/scheduled-calls.js';

const USER = { algorithm: 'token-bucket', capacity: 2, refill: 1, by: 'user' } as const;
const POLICIES = {
  plain: USER,
  settled: { ...USER, settle: () => 1 },
  beside: { ...USER, capacity: 1_000 },
  classed: { ...USER, priorities: { high: 1, low: 1 } },
  even: { algorithm: 'leaky-bucket', capacity: 8, drain: 1, by: 'user' },
  closed: { ...USER, onStoreFailure: 'closed' },
} as const satisfies Record<string, Policy>;
const ADA: Identity = { kind: 'user', value: 'ada' };

class FaultyStore extends VirtualStore {
  fails = false;

  override consume(...args: Parameters<VirtualStore['consume']>): ReturnType<VirtualStore['consume']> {
    if (this.fails) throw new Error('gone');
    return super.consume(...args);
  }
}

async function open(options: RateLimitModuleOptions = {}) {
  const clock = new VirtualClock();
  const store = new FaultyStore(clock);
  const events: DecisionEvent[] = [];
  const onDecision = (event: DecisionEvent): void => void events.push(event);
  const app = await start('Express', {
    imports: [RateLimitModule.forRoot({ policies: POLICIES, onDecision, ...options, store })],
  });
  const limiter = app.app.get(RateLimiter);
  const call = (policies: string | readonly string[], more: object = {}): Promise<number> => {
    const called = limiter.schedule(policies, ADA, () => 1, more);
    called.catch(() => undefined); // the test looks at it later
    return called;
  };
  return {
    limiter,
    clock,
    store,
    events,
    call,
    overrides: app.app.get(RateLimitOverrides),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

const countsOf = ({ requests, allowed, rejected, unavailable }: RateLimitStats): object => ({
  requests,
  allowed,
  rejected,
  unavailable,
});

describe('a scheduled call that waits', () => {
  it.each<[string, string | readonly string[], object]>([
    ['under a plain policy', 'plain', {}],
    ['with a signal', 'plain', { signal: new AbortController().signal }],
    ['for a departure slot', 'even', {}],
  ])('is no rejected request, %s: it counts once, when it gets its turn', async (_, policies, options) => {
    await using opened = await open();
    const { clock, call, limiter, events } = opened;
    const calls = Array.from({ length: 7 }, async () => call(policies, options));
    await turns();
    const waiting = limiter.stats();
    expect(waiting).toMatchObject({ rejected: 0, unavailable: 0 });
    expect(waiting.policies.filter(({ rejected }) => rejected > 0)).toEqual([]);
    await pass(clock, 6_000);
    await Promise.all(calls);
    const stats = limiter.stats();
    expect(countsOf(stats)).toEqual({ requests: 7, allowed: 7, rejected: 0, unavailable: 0 });
    expect(stats.topRejected).toEqual({ identities: [], othersAtMost: 0 });
    expect(events.map(({ decision: { allowed } }) => allowed)).toEqual(Array.from({ length: 7 }, () => true));
    const named = stats.policies.filter(({ policy }) => policies.includes(policy));
    expect(named.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(7 * [policies].flat().length);
    for (const { requests, allowed, rejected } of named) expect([requests, rejected]).toEqual([allowed, 0]);
  });

  it('is none either where it gets no turn', async () => {
    await using opened = await open();
    const { clock, call, limiter, events } = opened;
    const abort = new AbortController();
    const calls = [call('plain'), call('plain'), call('plain', { maxWait: 0 }), call('plain', { maxWait: 500 })];
    calls.push(call('plain', { signal: abort.signal }));
    await turns();
    abort.abort();
    await pass(clock, 3_000);
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
    expect(countsOf(limiter.stats())).toEqual({ requests: 2, allowed: 2, rejected: 0, unavailable: 0 });
    expect(events).toHaveLength(2);
    // What is asked without waiting counts as ever.
    for (let i = 0; i < 5; i++) await limiter.consume('plain', ADA);
    expect(limiter.stats()).toMatchObject({ requests: 7, rejected: 3 });
    expect(limiter.stats().topRejected.identities).toMatchObject([{ identity: 'user:ada', atLeast: 3 }]);
  });
});

describe('stats().scheduled', () => {
  it('is in Prometheus, with names that are bounded', async () => {
    const registry = new Registry();
    const clock = new VirtualClock();
    const limits = RateLimitModule.forRoot({ policies: POLICIES, store: new VirtualStore(clock) });
    await using app = await start('Express', { imports: [limits, RateLimitMetricsModule.forRoot({ registry })] });
    const limiter = app.app.get(RateLimiter);
    for (let i = 0; i < 5; i++) void limiter.schedule('plain', ADA, () => 1).catch(() => undefined);
    await turns();
    let metrics = new Exposition(await registry.metrics());
    expect(metrics.get('rate_limiter_scheduled_waiting', { policy: 'plain' })).toBe(3);
    expect(metrics.get('rate_limiter_scheduled_total', { policy: 'plain', result: 'at-once' })).toBe(2);
    expect(metrics.get('rate_limiter_scheduled_total', { policy: 'plain', result: 'late' })).toBe(0);
    for (let i = 0; i < 1_100; i++) await limiter.schedule({ ...USER, name: `tenant-${i}` }, ADA, () => 1);
    metrics = new Exposition(await registry.metrics());
    expect(metrics.labelsOf('rate_limiter_scheduled_waiting').length).toBeLessThanOrEqual(1_001);
    expect(metrics.sum('rate_limiter_scheduled_total')).toBe(1_102);
  });
});

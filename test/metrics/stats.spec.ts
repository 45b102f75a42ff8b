import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Decision,
  type DecisionEvent,
  type DecisionSource,
  type OnStoreFailure,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
  LimiterUnavailableError,
} from 'nestjs-floodgate';
import { type HttpApp, start } from '../support/http-app.js';
import { histories } from '../support/property-runs.js';
import { StillStore } from '../support/still-store.js';

const POLICIES = {
  plain: { algorithm: 'token-bucket', capacity: 4, refill: '1/h' },
  window: { algorithm: 'fixed-window', limit: 3, window: '300d', onStoreFailure: 'local' },
  open: { algorithm: 'sliding-window-log', limit: 2, window: '300d', onStoreFailure: 'open' },
  closed: { algorithm: 'sliding-window-counter', limit: 2, window: '300d', onStoreFailure: 'closed' },
} as const;

type Name = keyof typeof POLICIES;
const NAMES = Object.keys(POLICIES) as Name[];

interface Step {
  readonly names: Name[];
  readonly client: string;
  readonly cost: number;
  readonly peek: boolean;
  readonly storeFails: boolean;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    names: fc.shuffledSubarray(NAMES, { minLength: 1 }),
    client: fc.constantFrom('ada', 'bob'),
    cost: fc.integer({ min: 1, max: 3 }),
    peek: fc.boolean(),
    storeFails: fc.boolean(),
  }),
  { maxLength: 40 },
);

function service(options: RateLimitModuleOptions): Promise<HttpApp> {
  return start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES, ...options })] });
}

const MODES: OnStoreFailure[] = ['local', 'open', 'closed'];

it.each(MODES)('counts the answers that callers got, whatever fails (onStoreFailure %s)', async (onStoreFailure) => {
  const store = new StillStore();
  let fails = false;
  const faulty: RateLimitStore = {
    consume: (charges) => (fails ? Promise.reject(new Error('unavailable')) : store.consume(charges)),
    reset: (keys) => store.reset(keys),
  };
  const events: DecisionEvent[] = [];
  await using http = await service({ store: faulty, onStoreFailure, onDecision: (event) => void events.push(event) });
  const limiter = http.app.get(RateLimiter);

  // The counts of the answers, over all histories.
  const told = { requests: 0, allowed: 0, rejected: 0, unavailable: 0 };
  const sources: Record<DecisionSource, number> = {
    store: 0,
    prefetch: 0,
    'denial-cache': 0,
    local: 0,
    open: 0,
    closed: 0,
    override: 0,
  };
  const policies = Object.fromEntries(NAMES.map((name) => [name, { requests: 0, allowed: 0, rejected: 0 }]));
  let failures = 0;

  async function take({ names, client, cost, peek, storeFails }: Step): Promise<void> {
    fails = storeFails;
    failures += Number(fails);
    let decision: Decision | undefined;
    try {
      decision = await limiter.consume(names, { kind: 'user', value: client }, { cost: peek ? 0 : cost });
    } catch (error) {
      if (!(error instanceof LimiterUnavailableError)) throw error;
    }
    if (peek) return;
    told.requests++;
    sources[decision?.decidedBy ?? 'closed']++;
    if (decision === undefined) told.unavailable++;
    else if (decision.allowed) told.allowed++;
    else told.rejected++;
    for (const name of names) {
      policies[name]!.requests++;
      if (decision?.allowed === true) policies[name]!.allowed++;
      if (decision?.policies.find(({ policy }) => policy === name)?.allowed === false) policies[name]!.rejected++;
    }
  }

  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      for (const client of ['ada', 'bob']) await limiter.reset(NAMES, { kind: 'user', value: client });
      for (const step of taken) await take(step);
      const stats = limiter.stats();
      expect(stats).toMatchObject({ ...told, sources, storeFailures: failures });
      expect(
        stats.policies.map(({ policy, requests, allowed, rejected }) => [policy, { requests, allowed, rejected }]),
      ).toEqual(Object.entries(policies));
      // The figures also agree with each other.
      expect(stats.allowed + stats.rejected + stats.unavailable).toBe(stats.requests);
      expect(Object.values(stats.sources).reduce((a, b) => a + b)).toBe(stats.requests);
      expect(events).toHaveLength(stats.requests);
      for (const each of stats.policies) expect(each.allowed + each.rejected).toBeLessThanOrEqual(each.requests);
    }),
    histories<[Step[]]>(0.3),
  );
  const sum = (pick: (event: DecisionEvent) => boolean): number => events.filter(pick).length;
  expect(sum(({ decision }) => decision.allowed)).toBe(told.allowed);
  for (const source of Object.keys(sources) as DecisionSource[]) {
    expect([source, sum((event) => event.source === source)]).toEqual([source, sources[source]]);
  }
});

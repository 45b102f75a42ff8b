import { inspect } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Charge,
  type Decision,
  type Identity,
  LimiterUnavailableError,
  MemoryStore,
  type Policy,
  RateLimitConfigError,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitStore,
  type Verdict,
} from 'nestjs-floodgate';
import { expectSame } from '../../support/expect-same.js';
import { histories } from '../../support/property-runs.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';
import { TestClock } from '../../support/test-clock.js';
import { ToldStore } from '../../support/told-store.js';

const ADA: Identity = { kind: 'user', value: 'ada' };
const POLICIES: Readonly<Record<string, Policy>> = {
  bucket: { algorithm: 'token-bucket', capacity: 5, refill: '10/s' },
  queue: { algorithm: 'leaky-bucket', capacity: 3, drain: '5/s' },
  window: { algorithm: 'fixed-window', limit: 4, window: '1s' },
  log: { algorithm: 'sliding-window-log', limit: 4, window: '1s' },
  counter: { algorithm: 'sliding-window-counter', limit: 4, window: '1s' },
  blocking: { algorithm: 'fixed-window', limit: 2, window: '1s', blockFor: '3s' },
  watched: { algorithm: 'fixed-window', limit: 2, window: '1s', mode: 'shadow' },
};
const NAMES = Object.keys(POLICIES);
/** Gains nothing while a test runs in real time. */
const SLOW: Readonly<Record<string, Policy>> = { bucket: { algorithm: 'token-bucket', capacity: 5, refill: '10/h' } };

interface Application extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
}

async function open(options: RateLimitModuleOptions): Promise<Application> {
  const imports = [RateLimitModule.forRoot({ guard: false, policies: POLICIES, ...options })];
  const app = await NestFactory.createApplicationContext({ module: class App {}, imports }, { logger: false });
  return {
    limiter: app.get(RateLimiter),
    overrides: app.get(RateLimitOverrides),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** A store of an application that answers at once: its decisions take the general way. */
class OwnStore implements RateLimitStore {
  readonly supports = ['shadow', 'block'] as const;
  readonly asked: (readonly Charge[])[] = [];

  constructor(private readonly memory: MemoryStore = new StillStore()) {}

  consume(charges: readonly Charge[]): Verdict {
    this.asked.push(charges);
    return this.memory.consume(charges);
  }

  reset(keys: readonly string[]): void {
    this.memory.reset(keys);
  }
}

interface Step {
  readonly policies: readonly string[];
  readonly user: number;
  readonly cost: number | undefined;
  readonly byUs: number;
  readonly resets: boolean;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    policies: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...NAMES).map((name) => [name]) },
      { weight: 1, arbitrary: fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 2, maxLength: 3 }) },
    ),
    user: fc.nat({ max: 1 }),
    cost: fc.option(fc.nat({ max: 3 }), { nil: undefined, freq: 3 }),
    byUs: fc.oneof(fc.constant(0), fc.nat({ max: 500_000 }), fc.nat({ max: 4_000_000 })),
    resets: fc.boolean().map((resets) => resets),
  }),
  { minLength: 1, maxLength: 40 },
);

/** A decision as callers see it, in four ways. */
function looksOf(decision: Decision): object {
  return {
    spread: { ...decision, policies: decision.policies.map((policy) => ({ ...policy })) },
    json: JSON.parse(JSON.stringify(decision)),
    clone: structuredClone(decision),
    text: inspect(decision, { depth: 5 }),
  };
}

describe('consumeSync', () => {
  let run = 0;
  const clock = new TestClock(19_900 * 86_400_000_000);
  const kept = { consume: new MemoryStore({ clock: clock.read }), sync: new MemoryStore({ clock: clock.read }) };
  const own = new OwnStore(new MemoryStore({ clock: clock.read }));
  let apps: Record<'consume' | 'sync' | 'own', Application>;

  beforeAll(async () => {
    apps = {
      consume: await open({ store: kept.consume }),
      sync: await open({ store: kept.sync }),
      own: await open({ store: own }),
    };
  });

  afterAll(async () => {
    for (const app of Object.values(apps)) await app[Symbol.asyncDispose]();
  });

  it('decides as consume does, and no decision changes later', async () => {
    const law = fc.asyncProperty(steps, async (history) => {
      run++;
      const read: [Decision, object][] = [];
      for (const { policies, user, cost, byUs, resets } of history) {
        clock.now += byUs;
        const who = { kind: 'user', value: `run-${run}-user-${user}` };
        const options = cost === undefined ? undefined : { cost };
        const asked = policies.length === 1 ? policies[0]! : policies;
        const decision = apps.sync.limiter.consumeSync(asked, who, options);
        expectSame(decision, await apps.consume.limiter.consume(asked, who, options));
        expectSame(decision, apps.own.limiter.consumeSync(asked, who, options));
        read.push([decision, looksOf(decision)]);
        if (resets && byUs % 5 === 1) {
          for (const { limiter } of Object.values(apps)) await limiter.reset(policies, who);
        }
      }
      for (const [decision, looks] of read) expectSame(looksOf(decision), looks);
      expectSame(apps.sync.limiter.stats().policies, apps.consume.limiter.stats().policies);
      expectSame(apps.sync.limiter.stats().sources, apps.consume.limiter.stats().sources);
    });
    await fc.assert(law, histories(0.2));
  });
});

describe('consumeSync and a store that answers later', () => {
  const redis = useRedis();

  it('throws over Redis, and charges nothing', async () => {
    await using app = await open({ redis: redis.server.url, deadline: '10s' });
    const wanted = 'RateLimiter.consumeSync: the store is Redis, which answers later, so there is no decision yet';
    for (let i = 0; i < 3; i++) {
      expect(() => app.limiter.consumeSync('bucket', ADA)).toThrow(new RegExp(`^${wanted}`));
      expect(() => app.limiter.consumeSync('bucket', ADA)).toThrow(RateLimitConfigError);
    }
    const { policies } = await app.limiter.peek('bucket', ADA);
    expect([policies[0]!.remaining, app.limiter.stats().requests]).toEqual([5, 0]);
    expect(await redis.client.keys('*')).toEqual([]);
  });

  it('throws over a store that fails later, without an unhandled rejection', async () => {
    await using app = await open({ store: ToldStore.failing(), policies: { bucket: POLICIES['bucket']! } });
    expect(() => app.limiter.consumeSync('bucket', ADA)).toThrow('the store answers later');
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('consumeSync with the rest of the limiter', () => {
  it('obeys overrides, also those that come after the first call', async () => {
    await using app = await open({ policies: SLOW });
    const { limiter, overrides } = app;
    expect(limiter.consumeSync('bucket', ADA).policies[0]!.limit).toBe(5);
    await overrides.set({ policy: 'bucket', identity: ADA }, { capacity: 50 });
    expect(limiter.consumeSync('bucket', ADA).policies[0]).toMatchObject({ limit: 50, override: expect.any(Number) });
    await overrides.set({ policy: 'bucket', identity: ADA }, { blocked: true });
    expect(limiter.consumeSync('bucket', ADA)).toMatchObject({ allowed: false, decidedBy: 'override' });
    await overrides.remove({ policy: 'bucket', identity: ADA });
    expect(limiter.consumeSync('bucket', ADA).policies[0]).toMatchObject({ limit: 5, remaining: 3 });
  });

  it('falls back at once where the store throws', async () => {
    const store = new ToldStore(() => {
      throw new Error('disk is full');
    });
    await using app = await open({ store, policies: SLOW });
    const decisions = Array.from({ length: 6 }, () => app.limiter.consumeSync('bucket', ADA));
    expect(decisions.map(({ allowed, decidedBy }) => [allowed, decidedBy])).toEqual(
      decisions.map((_, i) => [i < 5, 'local']),
    );
    await using closed = await open({ store, policies: SLOW, onStoreFailure: 'closed' });
    expect(() => closed.limiter.consumeSync('bucket', ADA)).toThrow(LimiterUnavailableError);
  });
});

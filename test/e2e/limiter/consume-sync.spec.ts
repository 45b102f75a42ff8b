import { NestFactory } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Identity,
  MemoryStore,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { expectSame } from '../../support/expect-same.js';
import { OwnStore } from '../../support/own-store.js';
import { histories as runs } from '../../support/property-runs.js';
import { useRedis } from '../../support/redis-fixture.js';
import { TestClock } from '../../support/test-clock.js';

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

/** Mostly the same call: from its third time on, it takes the fast path where there is one. */
const histories = fc.constantFrom(...NAMES).chain((main) =>
  fc.array(
    fc.record({
      policies: fc.oneof({ weight: 6, arbitrary: fc.constant(main) }, fc.constantFrom(...NAMES), fc.constant(NAMES)),
      cost: fc.option(fc.nat({ max: 3 }), { nil: undefined, freq: 2 }),
      byMs: fc.oneof(fc.constant(0), fc.nat({ max: 500 }), fc.nat({ max: 4_000 })),
      next: fc.constantFrom(...Array.from({ length: 8 }, () => 'nothing'), 'reset', 'clear'),
    }),
    { minLength: 1, maxLength: 60 },
  ),
);

it('consumeSync decides as consume does, and as the layers do over a store of the application', async () => {
  let run = 0;
  const clock = new TestClock(Date.UTC(2024, 0, 1) * 1000);
  const [one, two] = [0, 1].map(() => new MemoryStore({ clock: clock.read }));
  const own = new OwnStore();
  const stores = [one!, two!, own];
  const apps = await Promise.all(stores.map(async (store) => open({ store })));
  const law = fc.asyncProperty(histories, async (history) => {
    const who = { kind: 'user', value: `run-${run++}` };
    for (const { policies, cost, byMs, next } of history) {
      const options = cost === undefined ? undefined : { cost };
      const [sync, later, layers] = apps.map(({ limiter }) => limiter);
      const decision = sync!.consumeSync(policies, who, options);
      expectSame(await later!.consume(policies, who, options), decision);
      expectSame(layers!.consumeSync(policies, who, options), decision);
      clock.now += byMs * 1000;
      own.inner.advance(byMs);
      for (const [i, store] of stores.entries()) {
        if (next === 'clear') (store instanceof OwnStore ? store.inner : store).clear();
        else if (next === 'reset') await apps[i]!.limiter.reset(policies, who);
      }
    }
    const stats = apps.map(({ limiter }) => limiter.stats());
    for (const { policies, sources } of stats) expectSame([policies, sources], [stats[0]!.policies, stats[0]!.sources]);
    for (const { size, bytes } of [two!, own.inner]) expectSame([size, bytes], [one!.size, one!.bytes]);
  });
  await fc.assert(law, runs(0.2));
  for (const app of apps) await app[Symbol.asyncDispose]();
});

const redis = useRedis();

it('consumeSync throws over Redis, and charges nothing', async () => {
  await using app = await open({ redis: redis.server.url, deadline: '10s' });
  expect(() => app.limiter.consumeSync('bucket', ADA)).toThrow('the store is Redis, which answers later');
  const { policies } = await app.limiter.peek('bucket', ADA);
  expect([policies[0]!.remaining, app.limiter.stats().requests]).toEqual([5, 0]);
  expect(await redis.client.keys('*')).toEqual([]);
});

it('consumeSync obeys overrides, also those that come after the first call', async () => {
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

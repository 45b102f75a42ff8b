import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type Identity,
  type Policy,
  RateLimitConfigError,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { expectSame } from '../../support/expect-same.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

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

it('consumeSync decides as consume does', async () => {
  await using sync = await open({ store: new StillStore() });
  await using later = await open({ store: new StillStore() });
  for (const policies of [...NAMES, ['bucket', 'window']]) {
    for (const cost of [undefined, 2, 0, 1, 3, 1]) {
      const options = cost === undefined ? undefined : { cost };
      const decision = sync.limiter.consumeSync(policies, ADA, options);
      expectSame(decision, await later.limiter.consume(policies, ADA, options));
    }
  }
  const [one, other] = [sync, later].map(({ limiter }) => limiter.stats());
  expectSame([one!.policies, one!.sources], [other!.policies, other!.sources]);
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
});

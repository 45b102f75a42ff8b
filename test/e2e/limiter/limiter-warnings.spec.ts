import { Controller, Get } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type Policy, RateLimiter } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET = { name: 'bucket', algorithm: 'token-bucket', capacity: 100, refill: '1/m' } as const;

@Controller()
class Routes {
  @Get()
  get(): void {}
}

it('RateLimiter says once that it asks no skipIf, however often the policy is written anew', async () => {
  await using app = await limited('Express', Routes, { store: new StillStore() });
  const limiter = app.app.get(RateLimiter);
  const fresh = (name: string): Policy => ({ ...BUCKET, name, skipIf: () => true });
  for (let i = 0; i < 20; i++) await limiter.consume(fresh('one'), { kind: 'user', value: 'ada' });
  await limiter.consume(fresh('two'), { kind: 'user', value: 'ada' });
  expect(app.logs.of('warn').map((text) => /policy '(\w+)' has a skipIf/.exec(text)?.[1])).toEqual(['one', 'two']);
});

it('RateLimiter says once that prefetch needs Redis', async () => {
  await using app = await limited('Express', Routes, { store: new StillStore() });
  const limiter = app.app.get(RateLimiter);
  const prefetched = (): Policy => ({ ...BUCKET, prefetch: { for: '100ms', max: 20 } });
  await limiter.peek(prefetched(), { kind: 'user', value: 'ada' });
  expect(app.logs.of('warn')).toEqual([]);
  for (let i = 0; i < 3; i++) await limiter.consume(prefetched(), { kind: 'user', value: 'ada' });
  expect(app.logs.of('warn')).toEqual([expect.stringContaining("policy 'bucket' has prefetch, which needs Redis")]);
});

it("RateLimiter says once that a policy's scope needs a route, when it charges the policy", async () => {
  const policies = {
    route: { ...BUCKET, name: 'route', scope: 'route' },
    app: { ...BUCKET, name: 'app', scope: 'app' },
  } as const;
  await using app = await limited('Express', Routes, { store: new StillStore(), policies });
  const limiter = app.app.get(RateLimiter);
  const ada = { kind: 'user', value: 'ada' };
  await limiter.reset(['route', 'app'], ada); // it clears the states of routes
  expect(app.logs.of('warn')).toEqual([]);
  for (let i = 0; i < 3; i++) {
    await limiter.consume(['route', 'app'], ada);
    await limiter.consume('route', ada);
    await limiter.consume({ ...BUCKET, scope: 'controller' }, ada);
  }
  expect(app.logs.of('warn')).toEqual([
    "RateLimiter: policy 'route' has scope 'route', which needs a route: RateLimiter counts it with scope 'app' RateLimit",
    "RateLimiter: policy 'bucket' has scope 'controller', which needs a route: RateLimiter counts it with scope 'app' RateLimit",
  ]);
});

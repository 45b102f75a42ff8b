import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { MemoryStore, type Policy, RateLimit, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';

const ADA = { kind: 'user', value: 'ada' } as const;
const API: Policy = {
  name: 'api',
  algorithm: 'token-bucket',
  capacity: 2,
  refill: '1/d',
  by: 'user',
  plans: { pro: { capacity: 4 }, vast: { capacity: 1_000_000_000_000, refill: 1_000_000_000 } },
};

@Controller()
class Routes {
  @Get()
  @RateLimit(API)
  get(): void {}
}

function open(): Promise<HttpApp> {
  return limited('Express', Routes, {
    identity: FROM_HEADERS,
    store: new MemoryStore(),
    plan: { resolve: () => 'pro' },
  });
}

async function passing(app: HttpApp): Promise<number> {
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => app.send('/', { headers: { 'x-user-id': 'ada' } })),
  );
  return replies.filter(({ status }) => status === 200).length;
}

describe('an override for a client of a plan', () => {
  it("changes the plan's numbers, and reset clears both states", async () => {
    await using app = await open();
    expect(await passing(app)).toBe(4);
    const overrides = app.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'api', identity: ADA }, { capacity: 7 });
    expect(await passing(app)).toBe(7);
    await app.app.get(RateLimiter).reset([Routes, 'get'], ADA);
    expect(await passing(app)).toBe(7);
    await overrides.remove({ policy: 'api', identity: ADA });
    expect(await passing(app)).toBe(4);
  });

  it('is refused if it does not fit one of the plans', async () => {
    await using app = await open();
    const set = app.app.get(RateLimitOverrides).set({ policy: 'api', identity: ADA }, { capacity: 1_000_000_000_000 });
    await expect(set).rejects.toThrow("policy 'api' of GET /: refill");
    const slow = app.app.get(RateLimitOverrides).set({ policy: 'api', identity: ADA }, { refill: '2/d' });
    await expect(slow).rejects.toThrow("policy 'api' of GET /, plan 'vast': refill");
  });
});

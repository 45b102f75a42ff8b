import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitRequest } from 'nestjs-floodgate';
import { FROM_HEADERS, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { type Kind, KINDS, storeOf } from '../support/kinds.js';

const costOf = ({ query }: RateLimitRequest<{ query: { cost?: string } }>): number => Number(query.cost ?? 1);

/** One policy of each algorithm that does not delay requests. All have more room than `TIGHT`. */
const ROOMY: [Policy, ...Policy[]] = [
  { name: 'token-bucket', algorithm: 'token-bucket', capacity: 50, refill: '1/d' },
  { name: 'fixed-window', algorithm: 'fixed-window', limit: 50, window: '300d' },
  { name: 'sliding-window-log', algorithm: 'sliding-window-log', limit: 50, window: '1d' },
  { name: 'sliding-window-counter', algorithm: 'sliding-window-counter', limit: 50, window: '300d' },
];
const TIGHT: Policy = { name: 'tight', algorithm: 'token-bucket', capacity: 3, refill: '1/d' };
const APP_WIDE = [...ROOMY, TIGHT].map((policy): Policy => ({ ...policy, scope: 'app', cost: costOf }));
const PLAIN = APP_WIDE.map((policy): Policy => ({ ...policy, cost: 1 }));

@Controller()
class Routes {
  @Get('first')
  @RateLimit(APP_WIDE.at(-1)!, ...APP_WIDE.slice(0, -1))
  tightFirst(): void {}

  @Get('last')
  @RateLimit(APP_WIDE[0]!, ...APP_WIDE.slice(1))
  tightLast(): void {}
}

const redis = useRedis();
const open = (kind: Kind, controller: Type) =>
  limited(kind.platform, controller, { identity: FROM_HEADERS, ...storeOf(kind, redis) });

describe.each(KINDS)('over $platform with $store, a request that one of several policies rejects', (kind) => {
  it.each(['/first', '/last'])('is charged to none of the policies (%s)', async (path) => {
    await using app = await open(kind, Routes);
    expect(await app.crowd(20, path, { headers: { 'X-User-Id': 'ada' } })).toEqual({ 200: 3, 429: 17 });
    const { policies } = await app.app.get(RateLimiter).peek(PLAIN, { kind: 'user', value: 'ada' });
    expect(policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ...ROOMY.map(({ name }) => [name, 47]),
      ['tight', 0],
    ]);
  });

  it('is charged to none of the policies when its cost can never fit', async () => {
    await using app = await open(kind, Routes);
    expect((await app.as('ada', '/last?cost=4')).status).toBe(429);
    const { policies } = await app.app.get(RateLimiter).peek(PLAIN, { kind: 'user', value: 'ada' });
    expect(policies.map(({ limit, remaining }) => limit - remaining)).toEqual([0, 0, 0, 0, 0]);
  });

  it('leaves a global policy untouched, so one rejected client cannot use it up for the others', async () => {
    @Controller()
    class Shared {
      @Get()
      @RateLimit(
        { name: 'all', by: 'global', algorithm: 'fixed-window', limit: 10, window: '300d' },
        { name: 'client', algorithm: 'token-bucket', capacity: 2, refill: '1/d' },
      )
      get(): void {}
    }
    await using app = await open(kind, Shared);
    expect(await app.crowd(30, '/', { headers: { 'X-User-Id': 'greedy' } })).toEqual({ 200: 2, 429: 28 });
    for (const user of ['a', 'b', 'c', 'd'])
      expect(await app.crowd(2, '/', { headers: { 'X-User-Id': user } })).toEqual({ 200: 2 });
    expect((await app.as('e', '/')).body).toMatchObject({ policy: 'all' });
  });
});

it('a rejected first request of its client writes no key to Redis', async () => {
  await using app = await open({ platform: 'Express', store: 'Redis' }, Routes);
  expect((await app.as('eve', '/first?cost=4')).status).toBe(429);
  expect(await redis.client.keys('*')).toEqual([]);
  expect((await app.as('eve', '/first')).status).toBe(200);
  expect(await redis.client.keys('*')).toHaveLength(5);
});

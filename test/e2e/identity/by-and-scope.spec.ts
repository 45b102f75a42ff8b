import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, type PolicyBy, RateLimit, type RateLimitRequest, type TokenBucketPolicy } from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS, type SendOptions } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: TokenBucketPolicy = { name: 'bucket', algorithm: 'token-bucket', capacity: 2, refill: '1/m' };

type TenantRequest = RateLimitRequest<{ headers: { 'x-tenant'?: string } }>;

function countedBy(by: PolicyBy): Type {
  @Controller()
  class Route {
    @Get()
    @RateLimit({ ...BUCKET, by })
    get(): void {}
  }
  return Route;
}

const from = (address: string, more: Record<string, string> = {}): SendOptions => ({
  headers: { 'X-Forwarded-For': address, ...more },
});
const user = { 'X-User-Id': 'ada' };
const key = { 'X-API-Key': 'k1' };

describe.each(PLATFORMS)('over %s, the identity that a policy counts', (platform) => {
  // Each row: by, the request that uses the limit up, a second request, and whether both are counted together.
  it.each<[PolicyBy, SendOptions, SendOptions, 'together' | 'apart']>([
    ['client', from('10.0.0.1', { ...user, ...key }), from('10.0.0.2', { 'X-User-Id': 'bob', ...key }), 'together'],
    ['client', from('10.0.0.1', user), from('10.0.0.2', user), 'together'],
    ['client', from('10.0.0.1', user), from('10.0.0.1', { ...user, ...key }), 'apart'],
    ['client', from('10.0.0.1', user), from('10.0.0.1'), 'apart'],
    ['ip', from('10.0.0.1', user), from('10.0.0.1', key), 'together'],
    ['user', from('10.0.0.1', { ...user, ...key }), from('10.0.0.2', user), 'together'],
    ['user', from('10.0.0.1', key), from('10.0.0.1'), 'together'],
    ['user', from('10.0.0.1'), from('10.0.0.1', { 'X-User-Id': '10.0.0.1' }), 'apart'],
    ['api-key', from('10.0.0.1', { ...user, ...key }), from('10.0.0.2', key), 'together'],
    ['api-key', from('10.0.0.1', user), from('10.0.0.1'), 'together'],
    ['global', from('10.0.0.1', user), from('10.0.0.2', key), 'together'],
  ])('by %s: requests with %j and with %j are counted %s', async (by, first, second, expected) => {
    await using app = await limited(
      platform,
      countedBy(by),
      { store: new StillStore(), identity: FROM_HEADERS },
      { trustProxy: true },
    );
    expect(await app.crowd(3, '/', first)).toEqual({ 200: 2, 429: 1 });
    expect((await app.send('/', second)).status).toBe(expected === 'together' ? 429 : 200);
  });

  it('is what a function returns', async () => {
    const by: PolicyBy = ({ headers }: TenantRequest) => ({ kind: 'tenant', value: headers['x-tenant'] ?? '' });
    const store = new StillStore();
    await using app = await limited(platform, countedBy(by), { store, identity: FROM_HEADERS });
    expect(await app.crowd(3, '/', { headers: { 'X-Tenant': 'a', ...user } })).toEqual({ 200: 2, 429: 1 });
    expect(await app.crowd(3, '/', { headers: { 'X-Tenant': 'b', ...user } })).toEqual({ 200: 2, 429: 1 });
    expect(store.keys.map((text) => text.split('}')[0])).toEqual(['rl:{tenant:a', 'rl:{tenant:b']);
  });
});

/** Controller X has two routes, controller Y has one. The policy stands on every method or on both classes. */
function twoControllers(scope: Policy['scope'], decorated: 'method' | 'class'): Type[] {
  const policy: Policy = { ...BUCKET, ...(scope && { scope }) };
  const on = (target: 'method' | 'class'): ClassDecorator & MethodDecorator =>
    target === decorated ? RateLimit(policy) : () => undefined;
  @Controller('x')
  @on('class')
  class X {
    @Get('1')
    @on('method')
    one(): void {}

    @Get('2')
    @on('method')
    two(): void {}
  }
  @Controller('y')
  @on('class')
  class Y {
    @Get('1')
    @on('method')
    one(): void {}
  }
  return [X, Y];
}

describe.each(PLATFORMS)('over %s, a policy', (platform) => {
  it.each<[Policy['scope'], 'method' | 'class', number[]]>([
    [undefined, 'method', [200, 200]],
    [undefined, 'class', [429, 200]],
    ['route', 'method', [200, 200]],
    ['route', 'class', [200, 200]],
    ['controller', 'method', [429, 200]],
    ['controller', 'class', [429, 200]],
    ['app', 'method', [429, 429]],
    ['app', 'class', [429, 429]],
  ])(
    'with scope %s on a %s: after one route reaches its limit, routes of its class and of another class answer %j',
    async (scope, decorated, expected) => {
      await using app = await limited(platform, twoControllers(scope, decorated), { store: new StillStore() });
      expect(await app.crowd(3, '/x/1')).toEqual({ 200: 2, 429: 1 });
      expect([(await app.send('/x/2')).status, (await app.send('/y/1')).status]).toEqual(expected);
    },
  );
});

import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  type PolicyFunction,
  type PolicySource,
  RateLimit,
  RateLimiter,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { limited, limitHeaders, PLATFORMS } from '../../support/http-app.js';
import { stallOf } from '../../support/loop-stall.js';
import { StillStore } from '../../support/still-store.js';

/** A controller with one route that has these policies. */
function routeWith(policy: PolicySource, ...more: PolicySource[]): Type {
  @Controller()
  class Tenants {
    @Get()
    @RateLimit(policy, ...more)
    get(): string {
      return 'passed';
    }
  }
  return Tenants;
}

type TenantRequest = RateLimitRequest<{ headers: { 'x-plan'?: string } }>;

const plan = (name: string, capacity: number): Policy => ({ name, algorithm: 'token-bucket', capacity, refill: '1/m' });
const PLANS: Record<string, Policy> = { free: plan('free', 2), gold: plan('gold', 5) };

const planOf = ({ headers }: TenantRequest): Policy => PLANS[headers['x-plan'] ?? 'free']!;
const asPlan = (name: string) => ({ headers: { 'X-Plan': name } });

describe.each(PLATFORMS)('over %s, a policy function', (platform) => {
  it.each<[string, PolicySource]>([
    ['a policy', planOf],
    ['a promise of a policy', async (request: TenantRequest) => (await turn(), planOf(request))],
    ['a new object each time', (request: TenantRequest) => ({ ...planOf(request) })],
    ['the name of a policy', ({ headers }: TenantRequest) => headers['x-plan'] ?? 'free'],
    ['a promise of a name', async ({ headers }: TenantRequest) => (await turn(), headers['x-plan'] ?? 'free')],
  ])('chooses for each request by returning %s', async (_, source) => {
    await using app = await limited(platform, routeWith(source), { store: new StillStore(), policies: PLANS });
    expect(await app.crowd(8, '/', asPlan('gold'))).toEqual({ 200: 5, 429: 3 });
    expect(await app.crowd(8, '/', asPlan('free'))).toEqual({ 200: 2, 429: 6 });
    expect((await app.send('/', asPlan('gold'))).body).toMatchObject({ policy: 'gold' });
  });

  it('stands beside fixed policies, and one step charges all of them', async () => {
    const daily: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 4, window: '1d' };
    const store = new StillStore();
    await using app = await limited(platform, routeWith(daily, planOf), { store });
    expect(await app.crowd(6, '/', asPlan('gold'))).toEqual({ 200: 4, 429: 2 });
    expect(store.asked.every(({ length }) => length === 2)).toBe(true);
  });

  it('may stand on a class and in the defaults', async () => {
    @Controller('class')
    @RateLimit(planOf)
    class OnClass {
      @Get()
      get(): void {}
    }
    @Controller('defaults')
    class Plain {
      @Get()
      get(): void {}
    }
    await using app = await limited(platform, [OnClass, Plain], { store: new StillStore(), defaults: [planOf] });
    expect(await app.crowd(3, '/class')).toEqual({ 200: 2, 429: 1 });
    expect(await app.crowd(3, '/defaults')).toEqual({ 200: 2, 429: 1 });
  });

  it.each<[string, () => unknown, string]>([
    ['undefined', () => undefined, 'got undefined'],
    ['a number', () => 20, 'got 20'],
    ['an unknown name', () => 'platinum', "there is no policy named 'platinum'"],
    ['an invalid policy', () => ({ ...PLANS.free, capacity: 0 }), 'capacity must be a whole number'],
    ['a promise of null', () => Promise.resolve(null), 'got null'],
    ['a policy with the name of another policy of the route', () => plan('fixed', 3), "two policies are named 'fixed'"],
  ])('that returns %s makes each request fail with a logged 500, and charges nothing', async (_, source, problem) => {
    const store = new StillStore();
    const controller = routeWith(plan('fixed', 2), source as PolicySource);
    await using app = await limited(platform, controller, { store, policies: PLANS });
    for (let i = 0; i < 3; i++) {
      const reply = await app.send('/');
      expect(reply.status).toBe(500);
      expect(reply.body).toEqual({ statusCode: 500, message: 'Internal server error' });
      expect(limitHeaders(reply)).toEqual([]);
    }
    expect(app.logs.of('error')).toHaveLength(3);
    expect(app.logs.of('error')[0]).toContain('Tenants.get, @RateLimit');
    expect(app.logs.of('error')[0]).toContain(problem);
    expect(store.asked).toEqual([]);
  });

  it.each<[string, () => unknown, string]>([
    ['undefined', () => undefined, 'got undefined'],
    ['a number', () => 20, 'got 20'],
    ['an unknown name', () => 'platinum', "there is no policy named 'platinum'"],
    ['a name of 15 kB', () => 'x'.repeat(15_000), "there is no policy named 'xxx"],
    ['a name that every object has', () => 'constructor', "there is no policy named 'constructor'"],
    ['an invalid policy', () => ({ ...PLANS.free, capacity: 0 }), 'capacity must be a whole number'],
    ['a promise of null', () => Promise.resolve(null), 'got null'],
    ['a policy with the name of another policy of the route', () => plan('fixed', 3), "policy 'fixed' cannot stand"],
  ])('that returns %s is replaced by its fallback, else by the defaults', async (_, source, problem) => {
    const choose = source as PolicyFunction;
    const limits = async (fallback: PolicySource | undefined, defaults: PolicySource[]): Promise<readonly number[]> => {
      const store = new StillStore();
      const controller = routeWith({ choose, fallback } as PolicySource, plan('fixed', 9));
      await using app = await limited(platform, controller, { store, defaults, policies: PLANS });
      const statuses = [];
      for (let i = 0; i < 4; i++) statuses.push((await app.send('/')).status);
      expect(app.logs.of('error')).toEqual([]);
      const [warning] = app.logs.of('warn');
      expect(warning).toContain('Tenants.get, @RateLimit: a policy function failed, ');
      expect(warning).toContain(problem);
      expect(warning!.length).toBeLessThan(600);
      expect(app.app.get(RateLimiter).stats().functionFailures.policy).toBe(4);
      return statuses;
    };
    expect(await limits(plan('two', 2), [plan('three', 3)])).toEqual([200, 200, 429, 429]);
    expect(await limits(undefined, [plan('three', 3)])).toEqual([200, 200, 200, 429]);
  });

  it('that returns the text of a header costs no more than the header, whatever the text is', async () => {
    const choose: PolicyFunction = ({ headers }) => String(headers['x-plan']);
    const policies = { ...PLANS, ['a'.repeat(64)]: plan('a'.repeat(64), 100) };
    const sources: PolicySource = { choose, fallback: plan('two', 1000) };
    await using app = await limited(platform, routeWith(sources), { store: new StillStore(), policies });
    for (const length of [10, 64, 128, 1000, 14_000]) {
      const headers = { 'X-Plan': 'a'.repeat(length) };
      const { result, stallMs } = await stallOf(async () => {
        const replies = [];
        for (let i = 0; i < 20; i++) replies.push((await app.send('/', { headers })).status);
        return replies;
      });
      expect(new Set(result)).toEqual(new Set([200]));
      expect(stallMs).toBeLessThan(400);
    }
  });

  it('that chooses what another function has chosen is replaced by its fallback', async () => {
    const store = new StillStore();
    const both: [PolicySource, PolicySource] = [() => 'gold', { choose: () => 'gold', fallback: 'free' }];
    await using app = await limited(platform, routeWith(...both), { store, policies: PLANS });
    expect((await app.send('/')).status).toBe(200);
    expect(store.asked.map((charges) => charges.length)).toEqual([2]);
    expect(app.logs.of('error')).toEqual([]);
  });

  it.each<[string, PolicySource]>([
    [
      'throws',
      () => {
        throw new Error('plans are unavailable');
      },
    ],
    ['rejects', () => Promise.reject(new Error('plans are unavailable'))],
    ['never settles', () => new Promise<never>(() => undefined)],
  ])('that %s is replaced by its fallback, else by the defaults, else the request passes', async (_, source) => {
    const choose = source as PolicyFunction;
    const limits = async (policy: PolicySource, defaults: PolicySource[]): Promise<readonly number[]> => {
      const store = new StillStore();
      await using app = await limited(platform, routeWith(policy), { store, defaults, policies: PLANS });
      const statuses = [];
      for (let i = 0; i < 4; i++) statuses.push((await app.send('/')).status);
      expect(app.logs.of('error')).toEqual([]);
      expect(app.logs.of('warn').join()).toContain('Tenants.get, @RateLimit: a policy function failed, ');
      expect(app.app.get(RateLimiter).stats().functionFailures.policy).toBe(4);
      return statuses;
    };
    const two = plan('two', 2);
    const three = plan('three', 3);
    expect(await limits({ choose, fallback: two }, [three])).toEqual([200, 200, 429, 429]);
    expect(await limits({ choose }, [three])).toEqual([200, 200, 200, 429]);
    expect(await limits(choose, [three])).toEqual([200, 200, 200, 429]);
    expect(await limits(choose, [])).toEqual([200, 200, 200, 200]);
  });

  it.each<[string, object]>([
    ["'chose' is not an option of a policy function", { choose: () => 'free', chose: 1 }],
    ['choose must be a function that returns a policy or a name, got nothing', { choose: 'free' }],
    ['fallback must be a policy or the name of one, got a function', { choose: () => 'free', fallback: () => 'free' }],
    ["there is no policy named 'gone'", { choose: () => 'free', fallback: 'gone' }],
  ])('stops the boot with the error: %s', async (problem, source) => {
    const opened = limited(platform, routeWith(source as PolicySource), { store: new StillStore(), policies: PLANS });
    await expect(opened).rejects.toThrow(problem.replace('got nothing', "got 'free'"));
  });

  it('causes one parse of each distinct policy, also when it returns new objects', async () => {
    const store = new StillStore();
    const third = (capacity: number): Policy => ({ algorithm: 'token-bucket', capacity, refill: 1 / 3 });
    let capacity = 10;
    await using app = await limited(
      platform,
      routeWith(() => third(capacity)),
      { store },
    );
    await app.crowd(10, '/');
    capacity = 20;
    await app.crowd(5, '/');
    capacity = 10;
    await app.crowd(5, '/');
    expect(new Set(store.asked.map(([charge]) => charge!.algorithm)).size).toBe(2);
    // Parsing warns of the rounded rate, once for each distinct policy.
    expect(app.logs.of('warn').filter((text) => text.includes('refill is rounded down'))).toHaveLength(2);
  });

  it('may return one object whose numbers change between requests', async () => {
    const policy = { ...PLANS.free! } as Extract<Policy, { capacity: number }>;
    await using app = await limited(
      platform,
      routeWith(() => policy),
      { store: new StillStore() },
    );
    expect((await app.send('/')).headers['x-ratelimit-limit']).toBe('2');
    policy.capacity = 50;
    expect((await app.send('/')).headers['x-ratelimit-limit']).toBe('50');
  });
});

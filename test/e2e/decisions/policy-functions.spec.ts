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
import { limited, limitHeaders } from '../../support/http-app.js';
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

describe('a policy function', () => {
  it.each<[string, PolicySource]>([
    ['a policy', planOf],
    ['a promise of a policy', async (request: TenantRequest) => (await turn(), planOf(request))],
    ['a new object each time', (request: TenantRequest) => ({ ...planOf(request) })],
    ['the name of a policy', ({ headers }: TenantRequest) => headers['x-plan'] ?? 'free'],
    ['a promise of a name', async ({ headers }: TenantRequest) => (await turn(), headers['x-plan'] ?? 'free')],
  ])('chooses for each request by returning %s', async (_, source) => {
    await using app = await limited('Express', routeWith(source), { store: new StillStore(), policies: PLANS });
    expect(await app.crowd(8, '/', asPlan('gold'))).toEqual({ 200: 5, 429: 3 });
    expect(await app.crowd(8, '/', asPlan('free'))).toEqual({ 200: 2, 429: 6 });
    expect((await app.send('/', asPlan('gold'))).body).toMatchObject({ policy: 'gold' });
  });

  it('stands beside fixed policies, and one step charges all of them', async () => {
    const daily: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 4, window: '1d' };
    const store = new StillStore();
    await using app = await limited('Express', routeWith(daily, planOf), { store });
    expect(await app.crowd(6, '/', asPlan('gold'))).toEqual({ 200: 4, 429: 2 });
    expect(store.asked.every(({ length }) => length === 2)).toBe(true);
  });

  it.each<[string, () => unknown, string]>([
    ['an unknown name', () => 'platinum', "there is no policy named 'platinum'"],
    ['an invalid policy', () => ({ ...PLANS.free, capacity: 0 }), 'capacity must be a whole number'],
    ['a promise of null', () => Promise.resolve(null), 'got null'],
    ['a policy with the name of another policy of the route', () => plan('fixed', 3), "two policies are named 'fixed'"],
  ])('that returns %s makes each request fail with a logged 500, and charges nothing', async (_, source, problem) => {
    const store = new StillStore();
    const controller = routeWith(plan('fixed', 2), source as PolicySource);
    await using app = await limited('Express', controller, { store, policies: PLANS });
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
    ['an unknown name', () => 'platinum', "there is no policy named 'platinum'"],
    ['a name of 15 kB', () => 'x'.repeat(15_000), "there is no policy named 'xxx"],
    ['a name that every object has', () => 'constructor', "there is no policy named 'constructor'"],
    ['a rejection', () => Promise.reject(new Error('plans are away')), 'plans are away'],
    ['a policy with the name of another policy of the route', () => plan('fixed', 3), "policy 'fixed' cannot stand"],
  ])('that returns %s is replaced by its fallback, else by the defaults', async (_, source, problem) => {
    const choose = source as PolicyFunction;
    const limits = async (fallback: PolicySource | undefined, defaults: PolicySource[]): Promise<readonly number[]> => {
      const store = new StillStore();
      const controller = routeWith({ choose, fallback } as PolicySource, plan('fixed', 9));
      await using app = await limited('Express', controller, { store, defaults, policies: PLANS });
      const statuses = await app.statuses(4, '/');
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

  it.each<[string, object]>([
    ["'chose' is not an option of a policy function", { choose: () => 'free', chose: 1 }],
    ['choose must be a function that returns a policy or a name, got nothing', { choose: 'free' }],
    ['fallback must be a policy or the name of one, got a function', { choose: () => 'free', fallback: () => 'free' }],
    ["there is no policy named 'gone'", { choose: () => 'free', fallback: 'gone' }],
  ])('stops the boot with the error: %s', async (problem, source) => {
    const opened = limited('Express', routeWith(source as PolicySource), { store: new StillStore(), policies: PLANS });
    await expect(opened).rejects.toThrow(problem.replace('got nothing', "got 'free'"));
  });

  it('may return one object whose numbers change between requests', async () => {
    const policy = { ...PLANS.free! } as Extract<Policy, { capacity: number }>;
    await using app = await limited(
      'Express',
      routeWith(() => policy),
      { store: new StillStore() },
    );
    expect((await app.send('/')).headers['x-ratelimit-limit']).toBe('2');
    policy.capacity = 50;
    expect((await app.send('/')).headers['x-ratelimit-limit']).toBe('50');
  });
});

const queue = (name: string): Policy => ({ name, algorithm: 'leaky-bucket', capacity: 5, drain: 100 });

/** A policy function whose database is gone. */
const fails: PolicyFunction = () => {
  throw new Error('plans are gone');
};

/** The names of the policies that each request was charged by. */
const charged = ({ asked }: StillStore): unknown[] =>
  asked.map((charges) => charges.map(({ key }) => /:([a-z]+):[a-z]+:[^:]*$/.exec(key)?.[1]));

describe('when policy functions fail', () => {
  it.each<[string, PolicySource[], PolicySource[], string[]]>([
    [
      'two functions with one fallback are charged by it once',
      [
        { choose: fails, fallback: 'free' },
        { choose: fails, fallback: 'free' },
      ],
      [],
      ['free'],
    ],
    ['two functions with the defaults are charged by them once', [fails, fails], [plan('usual', 3)], ['usual']],
    [
      'a policy that another function chooses goes before a fallback of its name',
      [{ choose: fails, fallback: plan('gold', 1) }, () => 'gold'],
      [],
      ['gold'],
    ],
    [
      'a queue of the defaults stands back from the queue of the route',
      [queue('own'), fails],
      [queue('usual')],
      ['own'],
    ],
    [
      'fallbacks keep the order of the policies',
      [{ choose: fails, fallback: 'free' }, 'gold'],
      [plan('usual', 3)],
      ['free', 'gold'],
    ],
  ])('%s', async (_, sources, defaults, names) => {
    const store = new StillStore();
    const [first, ...more] = sources;
    await using app = await limited('Express', routeWith(first!, ...more), { store, defaults, policies: PLANS });
    expect((await app.send('/')).status).toBe(200);
    expect(charged(store)).toEqual([names]);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('a fallback that the route has already stops the boot', async () => {
    const controller = routeWith('free', { choose: () => 'gold', fallback: 'free' });
    const opened = limited('Express', controller, { store: new StillStore(), policies: PLANS });
    await expect(opened).rejects.toThrow("Tenants.get, @RateLimit: two policies are named 'free'");
  });

  it('a function of the middleware leaves out the defaults that need a route', async () => {
    @Controller()
    class Plain {
      @Get()
      get(): void {}
    }
    const store = new StillStore();
    const defaults: Policy[] = [{ ...plan('routed', 3), scope: 'route' }, plan('usual', 3)];
    await using app = await limited('Express', Plain, { store, defaults, middleware: [fails] });
    expect((await app.send('/nothing')).status).toBe(404);
    expect(charged(store)).toEqual([['usual']]);
  });
});

import { Controller, Get } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions, RateLimitOverrides } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type Platform, PLATFORMS } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

jest.setTimeout(20_000);

const ADA = { kind: 'user', value: 'ada' };
const START = Date.UTC(2024, 0, 1);
const WINDOW = { algorithm: 'fixed-window', limit: 3, window: '300d', by: 'user' } as const;
const LOGIN: Policy = { ...WINDOW, name: 'login', limit: 1, window: '1m', blockFor: '10m', blockAfter: 2 };
const PLANNED: Policy = {
  ...WINDOW,
  name: 'planned',
  plans: { pro: { limit: 8 }, team: { limit: 9 } },
  candidate: { limit: 2, plans: { pro: { limit: 4 } } },
  blockFor: '1h',
};

@Controller('door')
class Door {
  @Get()
  @RateLimit(LOGIN)
  open(): void {}

  @Get('tried')
  @RateLimit({ ...WINDOW, name: 'tried', candidate: { limit: 1 } })
  tried(): void {}

  @Get('shadow')
  @RateLimit({ ...LOGIN, name: 'shadow', mode: 'shadow' })
  shadow(): void {}

  @Get('again')
  @RateLimit({ ...LOGIN, name: 'again', blockFor: ['1m', '10m'] })
  again(): void {}

  @Get('planned')
  @RateLimit(PLANNED)
  planned(): void {}
}

const POLICIES: Record<string, Policy> = {
  codes: { algorithm: 'token-bucket', capacity: 1, refill: '1/h', blockFor: '1d', candidate: { refill: '1/2h' } },
};

const redis = useRedis();

function open(platform: Platform, options: RateLimitModuleOptions = {}): Promise<HttpApp> {
  return limited(platform, Door, {
    identity: FROM_HEADERS,
    policies: POLICIES,
    plan: { resolve: ({ headers }) => headers['x-plan'] as string },
    ...options,
  });
}

describe.each(PLATFORMS)('over %s, a policy in shadow or with blockFor', (platform) => {
  it('says so in the table', async () => {
    await using http = await open(platform, { store: new StillStore() });
    const table = http.app.get(RateLimiter).table();
    const brief = ({ name, mode, candidateOf, blockForMs, blockAfter }: (typeof table.named)[number]) =>
      [name, mode, candidateOf, blockForMs, blockAfter] as const;
    expect(table.routes.map((route) => route.limited)).toEqual([true, true, false, true, true]); // one is under a shadow alone
    expect(table.routes.map(({ policies }) => policies.map(brief))).toEqual([
      [['login', 'enforce', null, 600_000, 2]],
      [
        ['tried', 'enforce', null, null, null],
        ['tried.candidate', 'shadow', 'tried', null, null],
      ],
      [['shadow', 'shadow', null, 600_000, 2]],
      [['again', 'enforce', null, [60_000, 600_000], 2]],
      [
        ['planned', 'enforce', null, 3_600_000, 1],
        ['planned.candidate', 'shadow', 'planned', 3_600_000, 1],
      ],
    ]);
    expect(table.named.map(brief)).toEqual([
      ['codes', 'enforce', null, 86_400_000, 1],
      ['codes.candidate', 'shadow', 'codes', 86_400_000, 1],
    ]);
    expect(table.named[1]!.numbers).toEqual({ capacity: 1, refill: '1/2h' });
  });

  it('is explained with the block that stands: since when, until when, and when the next request passes', async () => {
    const store = new StillStore();
    await using http = await open(platform, { store });
    const limiter = http.app.get(RateLimiter);
    const ask = async (): Promise<number> => (await http.as('ada', '/door')).status;
    expect([await ask(), await ask()]).toEqual([200, 429]);
    expect((await limiter.explain('GET /door', ADA)).policies).toMatchObject([{ outcome: 'rejected', block: null }]);
    store.advance(1500.5);
    expect(await ask()).toBe(429);
    store.advance(59_999.25);
    const began = START + 1500.5;
    const until = new Date(Math.ceil(began + 600_000)).toISOString();
    const explained = await limiter.explain('GET /door', ADA);
    expect(explained).toMatchObject({ isRejected: true, passesAt: until });
    expect(explained.policies).toMatchObject([
      {
        policy: 'login',
        mode: 'enforce',
        outcome: 'blocked',
        isRejected: true,
        level: null,
        override: null,
        decidedBy: 'store',
        block: { since: new Date(Math.floor(began)).toISOString(), until, step: 1 },
        rejectedSince: new Date(Math.floor(began)).toISOString(),
        retryAfterMs: 600_000 - 59_999.25,
        passesAt: until,
      },
    ]);
    // Asking neither counts nor makes the block longer, and what it says holds.
    store.advance(600_000 - 59_999.25 - 0.001);
    expect(await ask()).toBe(429);
    store.advance(0.001);
    expect(await ask()).toBe(200);
  });

  it('would reject, and rejects nobody', async () => {
    const store = new StillStore();
    await using http = await open(platform, { store });
    const limiter = http.app.get(RateLimiter);
    for (const path of ['tried', 'tried', 'shadow', 'shadow', 'shadow'])
      expect((await http.as('ada', `/door/${path}`)).status).toBe(200);
    const tried = await limiter.explain('GET /door/tried', ADA);
    expect(tried).toMatchObject({ isRejected: false, passesAt: new Date(START).toISOString() });
    expect(tried.policies).toMatchObject([
      { policy: 'tried', mode: 'enforce', outcome: 'passes', level: { used: 2, limit: 3 } },
      {
        policy: 'tried.candidate',
        mode: 'shadow',
        outcome: 'would-reject',
        isRejected: false,
        rejectedSince: null,
        level: { used: 1, limit: 1, remaining: 0 },
      },
    ]);
    expect(tried.policies[1]!.retryAfterMs).toBeGreaterThan(0);
    expect((await limiter.explain('GET /door/shadow', ADA)).policies).toMatchObject([
      {
        outcome: 'would-reject',
        isRejected: false,
        level: null,
        block: { until: new Date(START + 600_000).toISOString() },
        rejectedSince: null,
      },
    ]);
    expect(await limiter.explain(null, ADA)).toMatchObject({ isRejected: false });
  });

  it('has a candidate under the plans and overrides of its policy, as after the roll-out', async () => {
    await using http = await open(platform, { store: new StillStore() });
    const [limiter, overrides] = [http.app.get(RateLimiter), http.app.get(RateLimitOverrides)];
    const limits = async (who: string, plan: string | null): Promise<unknown> => {
      const { policies } = await limiter.explain('GET /door/planned', { kind: 'user', value: who }, { plan });
      return policies.map(({ outcome, level }) => level?.limit ?? outcome);
    };
    expect(await limits('ada', null)).toEqual([3, 2]);
    expect(await limits('ada', 'pro')).toEqual([8, 4]);
    // A plan that the candidate does not name keeps its numbers.
    expect(await limits('ada', 'team')).toEqual([9, 9]);
    const target = { policy: 'planned', identity: ADA };
    await overrides.set(target, { limit: 70 });
    expect(await limits('ada', 'pro')).toEqual([70, 70]);
    expect(await limits('bob', 'pro')).toEqual([8, 4]);
    await overrides.set(target, { exempt: true });
    expect(await limits('ada', 'pro')).toEqual(['exempt', 'exempt']);
    const before = limiter.stats();
    expect((await http.as('ada', '/door/planned')).status).toBe(200);
    expect(limiter.stats().shadows).toEqual(before.shadows);
    expect(limiter.stats().overridden.exempt).toBe(before.overridden.exempt + 1);
    await overrides.set(target, { blocked: true });
    expect((await http.as('ada', '/door/planned')).status).toBe(429);
    expect(limiter.stats().shadows).toEqual(before.shadows);
    await expect(overrides.set({ ...target, policy: 'planned.candidate' }, { limit: 70 })).rejects.toThrow(
      `policy 'planned.candidate' is a candidate, and has the overrides of 'planned': name that`,
    );
    const shadow = { policy: 'shadow', identity: ADA };
    await expect(overrides.set(shadow, { blocked: true })).rejects.toThrow(
      `blocked has no effect on policy 'shadow' in shadow, which rejects nobody`,
    );
    await overrides.set(shadow, { limit: 2 });
    for (const allowed of [1, 2, 2]) {
      expect((await http.as('ada', '/door/shadow')).status).toBe(200);
      const counted = limiter.stats().shadows.find(({ policy }) => policy === 'shadow');
      expect(counted).toMatchObject({ allowed });
    }
  });

  it.each(['memory', 'Redis'])(
    'is cleared in %s with its blocks and candidates, by route and by name',
    async (where) => {
      await using http = await open(platform, where === 'Redis' ? { redis: redis.server.url } : {});
      const limiter = http.app.get(RateLimiter);
      const statuses = async (path: string, count: number, plan = ''): Promise<number[]> => {
        const all: number[] = [];
        for (let i = 0; i < count; i++) all.push((await http.as('ada', path, { headers: { 'X-Plan': plan } })).status);
        return all;
      };
      const cleared = [
        { policy: 'planned', scope: 'GET /door/planned' },
        { policy: 'planned.candidate', scope: 'GET /door/planned' },
      ];
      const wouldReject = async (): Promise<string[]> =>
        (await limiter.explain('GET /door/planned', ADA)).policies.map(({ outcome }) => outcome);
      for (const target of ['GET /door/planned', 'planned']) {
        // The block of one plan is that of all of them.
        expect(await statuses('/door/planned', 9, 'pro')).toEqual([...Array<number>(8).fill(200), 429]);
        expect(await wouldReject()).toEqual(['blocked', 'would-reject']);
        expect(await limiter.reset(target, ADA)).toEqual(cleared);
        expect(await wouldReject()).toEqual(['passes', 'passes']);
      }
      expect(await statuses('/door', 4)).toEqual([200, 429, 429, 429]);
      expect(await limiter.reset([Door, 'open'], ADA)).toEqual([{ policy: 'login', scope: 'GET /door' }]);
      expect(await statuses('/door', 2)).toEqual([200, 429]);
      for (let i = 0; i < 2; i++) await limiter.consume('codes', ADA);
      expect((await limiter.explain(null, ADA)).policies[0]).toMatchObject({ policy: 'codes', outcome: 'blocked' });
      await limiter.reset('codes', ADA);
      expect((await limiter.explain(null, ADA)).policies).toMatchObject(
        [
          'login',
          'codes',
          'codes.candidate',
          'tried',
          'tried.candidate',
          'shadow',
          'again',
          'planned',
          'planned.candidate',
        ].map((policy) => ({ policy, isRejected: policy === 'login' })),
      );
    },
  );
});

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type ThresholdEvent,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

const DAY = { algorithm: 'fixed-window', window: '1d', by: 'user' } as const;
const QUOTA: Policy = { ...DAY, name: 'quota', limit: 5, plans: { pro: { limit: 10 } }, thresholds: [0.8, 1] };

@Controller()
class Routes {
  @Get()
  @RateLimit(QUOTA)
  get(): string {
    return 'ok';
  }

  @Get('keys')
  @RateLimit({ name: 'keys', algorithm: 'fixed-window', limit: 1, window: '1d', by: 'api-key', thresholds: [1] })
  keys(): void {}

  @Post('counted')
  @RateLimit({ ...DAY, name: 'counted', limit: 2, countIf: () => false, thresholds: [0.5] })
  counted(): void {}

  @Post('settled')
  @RateLimit({ ...DAY, name: 'settled', limit: 100, settle: () => 60, thresholds: [0.5, 0.9] })
  settled(): void {}
}

const redis = useRedis();

const brief = ({ identity, policy, level, remaining }: ThresholdEvent) => `${identity} ${policy} ${level} ${remaining}`;

describe('onThreshold', () => {
  async function open(
    options: RateLimitModuleOptions = {},
  ): Promise<{ http: HttpApp; store: StillStore; events: ThresholdEvent[] }> {
    const events: ThresholdEvent[] = [];
    const store = new StillStore();
    const onThreshold = (event: ThresholdEvent): void => void events.push(event);
    const plan = { resolve: () => undefined };
    const http = await limited('Express', Routes, { store, identity: FROM_HEADERS, plan, onThreshold, ...options });
    return { http, store, events };
  }

  it('is called once for each level and window, with identity, policy, level, limit, remaining and the end', async () => {
    const { http, store, events } = await open();
    await using _ = http;
    for (let i = 0; i < 8; i++) await http.as('ada', '/');
    const event = { identity: 'user:ada', policy: 'quota', limit: 5, resetAtMs: Date.UTC(2024, 0, 2), source: 'store' };
    expect(events.splice(0)).toEqual([
      { ...event, level: 0.8, remaining: 1 },
      { ...event, level: 1, remaining: 0 },
    ]);
    store.advance(86_400_000);
    for (let i = 0; i < 4; i++) await http.as('ada', '/');
    expect(events.map(brief)).toEqual(['user:ada quota 0.8 1']);
  });

  it('has the plan and the override of the identity, whose limit counts', async () => {
    const { http, events } = await open({ plan: { resolve: () => 'pro' } });
    await using _ = http;
    const overrides = http.app.get(RateLimitOverrides);
    const { version } = await overrides.set({ policy: 'quota', identity: 'user:ada' }, { limit: 20 });
    for (let i = 0; i < 16; i++) await http.as('ada', '/');
    for (let i = 0; i < 8; i++) await http.as('bob', '/');
    expect(events).toMatchObject([
      { plan: 'pro', override: version, level: 0.8, limit: 20, remaining: 4 },
      { plan: 'pro', level: 0.8, limit: 10, remaining: 2 },
    ]);
  });

  it('never shows an API key', async () => {
    const { http, events } = await open();
    await using _ = http;
    await http.send('/keys', { headers: { 'X-Api-Key': 'sk_live_0123456789' } });
    expect(events.map(brief)).toEqual([expect.stringMatching(/^key:#[\w-]{22} keys 1 0$/)]);
  });

  it('tells once of a level that is refunded and reached again, and of one that only a settlement reaches', async () => {
    const { http, events } = await open();
    await using _ = http;
    for (let i = 0; i < 4; i++) await http.as('ada', '/counted', { method: 'POST' });
    await http.as('ada', '/settled', { method: 'POST' });
    await until('the settlement is told', 5000, () => events.length > 1);
    await http.as('ada', '/settled', { method: 'POST' });
    await until('the second one is told', 5000, () => events.length > 2);
    expect(events.map(brief)).toEqual(['user:ada counted 0.5 1', 'user:ada settled 0.5 40', 'user:ada settled 0.9 0']);
  });
});

describe('onThreshold of the limiter', () => {
  const ADA = { kind: 'user', value: 'ada' };
  const MAILS: Policy = { algorithm: 'sliding-window-log', limit: 4, window: '1h', thresholds: [0.5, 1] };

  async function open(options: RateLimitModuleOptions = {}) {
    const events: ThresholdEvent[] = [];
    const requests = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const onThreshold = (event: ThresholdEvent): void => {
      events.push(event);
      seen.push(requests.getStore());
    };
    const store = new StillStore();
    const imports = [RateLimitModule.forRoot({ store, onThreshold, policies: { mails: MAILS }, ...options })];
    const http = await start('Express', { imports });
    return { http, limiter: http.app.get(RateLimiter), events, store, seen, requests };
  }

  it('is called for consume, consumeSync and reserve, in their async context, and never for a peek or a rejection', async () => {
    const { http, limiter, events, seen, requests } = await open();
    await using _ = http;
    for (let i = 0; i < 9; i++) await limiter.peek('mails', ADA);
    await limiter.consume('mails', ADA);
    requests.run('sync', () => limiter.consumeSync('mails', ADA));
    expect(events).toEqual([]); // not within the call
    await turn();
    await turn();
    expect(events.splice(0).map(brief)).toEqual(['user:ada mails 0.5 2']);
    await requests.run('reserve', () => limiter.reserve('mails', ADA, { cost: 2 }));
    await limiter.consume('mails', ADA);
    await turn();
    expect(events.map(brief)).toEqual(['user:ada mails 1 0']);
    expect(seen).toEqual(['sync', 'reserve']);
  });

  it('tells of what was reached before the application closed', async () => {
    const { http, limiter, events } = await open({ store: undefined!, redis: redis.server.url, deadline: '10s' });
    await limiter.consume('mails', ADA, { cost: 3 });
    await http.close();
    expect(events.map(brief)).toEqual(['user:ada mails 0.5 1']);
  });

  it.each<[string, RateLimitModuleOptions, readonly string[]]>([
    [
      'thresholds without onThreshold',
      { onThreshold: undefined! },
      [
        "RateLimitModule: thresholds of 'mails' have no effect without onThreshold: give it, or leave them out RateLimit",
      ],
    ],
    [
      'onThreshold without thresholds',
      { policies: {} },
      [
        'RateLimitModule: onThreshold has no effect, because no policy that is known at boot has thresholds: give one of them thresholds: [0.8, 1], or leave ' +
          'onThreshold out RateLimit',
      ],
    ],
    ['both', {}, []],
  ])('boot warns of %s', async (_, options, warnings) => {
    const opened = await open(options);
    await using http = opened.http;
    expect(http.logs.of('warn')).toEqual(warnings);
  });
});

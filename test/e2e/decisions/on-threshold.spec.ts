import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
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
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS, start } from '../../support/http-app.js';
import { unhandledRejections } from '../../support/node-warnings.js';
import { expectRationed } from '../../support/rationed.js';
import { RedisServer } from '../../support/redis-server.js';
import { StillStore } from '../../support/still-store.js';

jest.setTimeout(30_000);

const QUOTA: Policy = {
  name: 'quota',
  algorithm: 'fixed-window',
  limit: 5,
  window: '1d',
  by: 'user',
  plans: { pro: { limit: 10 } },
  thresholds: [0.8, 1],
};

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

  @Get('all')
  @RateLimit({ name: 'all', algorithm: 'token-bucket', capacity: 2, refill: '1/h', by: 'global', thresholds: [0.5, 1] })
  all(): void {}

  @Post('counted')
  @RateLimit({
    name: 'counted',
    algorithm: 'fixed-window',
    limit: 2,
    window: '1d',
    by: 'user',
    countIf: () => false,
    thresholds: [0.5],
  })
  counted(): void {}

  @Post('settled')
  @RateLimit({
    name: 'settled',
    algorithm: 'fixed-window',
    limit: 100,
    window: '1d',
    by: 'user',
    settle: () => 60,
    thresholds: [0.5, 0.9],
  })
  settled(): void {}
}

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

const brief = ({ identity, policy, level, remaining }: ThresholdEvent) => `${identity} ${policy} ${level} ${remaining}`;

describe.each(PLATFORMS)('over %s, onThreshold', (platform) => {
  async function open(
    options: RateLimitModuleOptions = {},
  ): Promise<{ http: HttpApp; store: StillStore; events: ThresholdEvent[] }> {
    const events: ThresholdEvent[] = [];
    const store = new StillStore();
    const onThreshold = (event: ThresholdEvent): void => void events.push(event);
    const plan = { resolve: () => undefined };
    const http = await limited(platform, Routes, { store, identity: FROM_HEADERS, plan, onThreshold, ...options });
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
    for (let i = 0; i < 9; i++) await http.as('ada', '/');
    expect(events.splice(0)).toMatchObject([{ plan: 'pro', level: 0.8, limit: 10, remaining: 2 }]);
    const { version } = await http.app
      .get(RateLimitOverrides)
      .set({ policy: 'quota', identity: 'user:ada' }, { limit: 20 });
    for (let i = 0; i < 11; i++) await http.as('ada', '/');
    expect(events).toMatchObject([
      { plan: 'pro', override: version, level: 0.8, limit: 20, remaining: 4 },
      { plan: 'pro', override: version, level: 1, limit: 20, remaining: 0 },
    ]);
  });

  it('tells of policies of all clients together, and never shows an API key', async () => {
    const { http, events } = await open();
    await using _ = http;
    for (let i = 0; i < 3; i++) await http.as('ada', '/all');
    await http.send('/keys', { headers: { 'X-Api-Key': 'sk_live_0123456789' } });
    expect(events.map(brief)).toEqual([
      'global:all all 0.5 1',
      'global:all all 1 0',
      expect.stringMatching(/^key:#[\w-]{22} keys 1 0$/),
    ]);
  });

  it("names identities by a hash with decisionIdentity: 'hash'", async () => {
    const { http, events } = await open({ decisionIdentity: 'hash' });
    await using _ = http;
    for (let i = 0; i < 4; i++) await http.as('ada', '/');
    expect(events.map(brief)).toEqual([expect.stringMatching(/^user:#[\w-]{22} quota 0.8 1$/)]);
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

  it('that throws, rejects or never settles changes no response, and is logged at most once a second', async () => {
    let calls = 0;
    const faults: (() => unknown)[] = [
      () => {
        throw new Error('mail broken');
      },
      () => Promise.reject(new Error('mail unavailable')),
      () => new Promise(() => undefined),
    ];
    const { http } = await open({ onThreshold: () => faults[calls++ % faults.length]!() as void });
    await using _ = http;
    const unhandled = unhandledRejections();
    const statuses = [];
    const since = performance.now();
    for (const user of ['ada', 'bob']) for (let i = 0; i < 6; i++) statuses.push((await http.as(user, '/')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 200, 200, 200, 200, 200, 429]);
    expect(calls).toBe(4);
    expect(expectRationed(http.logs.of('warn'), since)).toBe('onThreshold failed: mail broken RateLimit');
    expect(await unhandled()).toEqual([]);
  });

  it('is called after the decision, and asks the store nothing but at a level', async () => {
    const { http, store, events } = await open();
    await using _ = http;
    const asked = (): number => store.asked.splice(0).length;
    for (let i = 0; i < 3; i++) await http.as('ada', '/');
    expect(asked()).toBe(3);
    await http.as('ada', '/');
    expect([asked(), events.length]).toEqual([2, 1]);
    for (let i = 0; i < 4; i++) await http.as('ada', '/');
    expect(asked()).toBe(5); // one more level
  });

  it('on Redis is told by one of two applications', async () => {
    const keyPrefix = `two-${platform}`;
    const options = { store: undefined!, redis: server.url, keyPrefix };
    const one = await open(options);
    await using _ = one.http;
    const other = await open(options);
    await using second = other.http;
    for (let i = 0; i < 3; i++) await Promise.all([one.http.as('ada', '/'), second.as('ada', '/')]);
    await until('both levels are told', 5000, () => one.events.length + other.events.length > 1);
    await turn();
    const levels = [...one.events, ...other.events].map(({ level }) => level);
    expect(levels.toSorted((a, b) => a - b)).toEqual([0.8, 1]);
  });

  it("tells with source 'local' while Redis is unavailable, once for each process", async () => {
    const gone = await RedisServer.start();
    const { http, events } = await open({ store: undefined!, redis: gone.url, onStoreFailure: 'local' });
    await using _ = http;
    await gone.stop();
    for (let i = 0; i < 8; i++) await http.as('ada', '/');
    expect(events).toMatchObject([
      { level: 0.8, source: 'local' },
      { level: 1, source: 'local' },
    ]);
  });
});

describe('onThreshold of the limiter', () => {
  const ADA = { kind: 'user', value: 'ada' };
  const MAILS: Policy = {
    name: 'mails',
    algorithm: 'sliding-window-log',
    limit: 4,
    window: '1h',
    thresholds: [0.5, 1],
  };

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

  it('tells of both levels that one cost reaches, the lower one first', async () => {
    const { http, limiter, events } = await open();
    await using _ = http;
    await limiter.consume('mails', ADA, { cost: 4 });
    await turn();
    expect(events.map(brief)).toEqual(['user:ada mails 0.5 0', 'user:ada mails 1 0']);
  });

  it('tells of the policy that was charged in the place of another one', async () => {
    const window = '1d';
    const policies: Record<string, Policy> = {
      daily: { algorithm: 'fixed-window', limit: 2, window, thresholds: [1], else: 'credits' },
      credits: { algorithm: 'fixed-window', limit: 4, window, thresholds: [0.5, 1] },
    };
    const { http, limiter, events } = await open({ policies });
    await using _ = http;
    for (let i = 0; i < 4; i++) expect((await limiter.consume('daily', ADA)).allowed).toBe(true);
    await turn();
    expect(events.map(brief)).toEqual(['user:ada daily 1 0', 'user:ada credits 0.5 2']);
    expect(limiter.stats().topRejected.identities).toEqual([]);
  });

  it('tells of what was reached before the application closed', async () => {
    const { http, limiter, events } = await open({ store: undefined!, redis: server.url, keyPrefix: 'closing' });
    await limiter.consume('mails', ADA, { cost: 3 });
    await http.close();
    expect(events.map(brief)).toEqual(['user:ada mails 0.5 1']);
  });

  it.each<[string, RateLimitModuleOptions, readonly string[]]>([
    [
      'thresholds without onThreshold',
      { onThreshold: undefined! },
      [
        "thresholds of 'mails' have no effect without onThreshold: give it to RateLimitModule, or leave them out RateLimit",
      ],
    ],
    [
      'onThreshold without thresholds',
      { policies: {} },
      [
        'RateLimitModule, onThreshold: no policy that is known at boot has thresholds: give one of them thresholds: [0.8, 1], or leave ' +
          'onThreshold out RateLimit',
      ],
    ],
    ['both', {}, []],
  ])('boot warns of %s', async (_, options, warnings) => {
    const opened = await open(options);
    await using http = opened.http;
    expect(http.logs.of('warn')).toEqual(warnings);
  });

  it('stops the boot for two policies of one state of which only one tells', async () => {
    @Controller()
    class Two {
      @Get('one')
      @RateLimit({ name: 'same', scope: 'app', algorithm: 'fixed-window', limit: 5, window: '1d', thresholds: [1] })
      one(): void {}

      @Get('two')
      @RateLimit({ name: 'same', scope: 'app', algorithm: 'fixed-window', limit: 5, window: '1d' })
      two(): void {}
    }
    await expect(limited('Express', Two, { onThreshold: () => undefined })).rejects.toThrow(
      "policy 'same' is a fixed-window (limit 5, window 86400000 ms), but 'same' of Two.one, @RateLimit is a fixed-window (limit 5, window 86400000 ms, thresholds 1)",
    );
  });
});

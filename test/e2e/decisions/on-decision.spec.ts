import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type DecisionEvent,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS, start } from '../../support/http-app.js';
import { unhandledRejections } from '../../support/node-warnings.js';
import { expectRationed } from '../../support/rationed.js';
import { RedisServer } from '../../support/redis-server.js';
import { StillStore } from '../../support/still-store.js';

const THREE = { algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const;

class Inherited {
  @Get('inherited')
  @RateLimit(THREE)
  inherited(): void {}
}

@Controller()
class Routes extends Inherited {
  @Get()
  @RateLimit({ ...THREE, name: 'user' }, { ...THREE, name: 'all', capacity: 2, by: 'global' })
  get(): void {}

  @Get('chosen')
  @RateLimit(() => THREE)
  chosen(): void {}

  @Get('looks')
  @RateLimit({ ...THREE, cost: 0 })
  looks(): void {}

  @Get('skipped')
  @SkipRateLimit()
  skipped(): void {}
}

const ADA = { kind: 'user', value: 'ada' };

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

/** The fields of an event that are the same in every run. */
function summary({ decision, source, route }: DecisionEvent): unknown {
  return [route, source, decision.allowed, decision.policies.map(({ policy, allowed }) => `${policy} ${allowed}`)];
}

describe.each(PLATFORMS)('over %s, onDecision', (platform) => {
  async function app(options: RateLimitModuleOptions): Promise<{ app: HttpApp; events: DecisionEvent[] }> {
    const events: DecisionEvent[] = [];
    const onDecision = (event: DecisionEvent): void => void events.push(event);
    return {
      app: await limited(platform, Routes, { store: new StillStore(), identity: FROM_HEADERS, onDecision, ...options }),
      events,
    };
  }

  it('is called once for every decision of the guard, with the handler and every policy', async () => {
    const { app: http, events } = await app({});
    await using _ = http;
    for (const path of ['/', '/', '/', '/inherited', '/chosen', '/looks', '/skipped', '/nowhere']) {
      await http.as('ada', path);
    }
    expect(events.map(summary)).toEqual([
      ['Routes.get', 'store', true, ['user true', 'all true']],
      ['Routes.get', 'store', true, ['user true', 'all true']],
      ['Routes.get', 'store', false, ['user true', 'all false']],
      ['Routes.inherited', 'store', true, ['default true']],
      ['Routes.chosen', 'store', true, ['default true']],
      ['Routes.looks', 'store', true, ['default true']], // a request of cost 0 is a decision, too
    ]);
  });

  it('that throws, rejects or never settles changes no response, and is logged at most once a second', async () => {
    let calls = 0;
    const faults: (() => unknown)[] = [
      () => {
        throw new Error('meter broken');
      },
      () => {
        throw null;
      },
      () => Promise.reject(new Error('exporter unavailable')),
      () => new Promise(() => undefined),
    ];
    const onDecision = (): void => faults[calls++ % faults.length]!() as void;
    const { app: http } = await app({ onDecision });
    await using _ = http;
    const unhandled = unhandledRejections();
    const statuses = [];
    const since = performance.now();
    for (let i = 0; i < 8; i++) statuses.push((await http.as('ada', '/inherited')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    expect(calls).toBe(8);
    expect(expectRationed(http.logs.of('warn'), since)).toBe('onDecision failed: meter broken RateLimit');
    expect(http.logs.of('error')).toEqual([]);
    expect(await unhandled()).toEqual([]);
  });

  it('is called in the async context of the request on Redis, so tracing finds its span', async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: string[] = [];
    const imports = [
      RateLimitModule.forRoot({ redis: server.url, onDecision: () => seen.push(requests.getStore() ?? 'none') }),
    ];
    await using http = await start('Express', { imports });
    const limiter = http.app.get(RateLimiter);
    const names = Array.from({ length: 40 }, (_, i) => `request-${i}`);
    const consume = (name: string): Promise<unknown> =>
      requests.run(name, () => limiter.consume({ ...THREE, name: 'traced' }, { kind: 'user', value: platform }));
    await Promise.all(names.map(consume));
    expect(new Set(seen)).toEqual(new Set(names));
    expect(seen).toHaveLength(names.length);
  });

  it.each<[RateLimitModuleOptions['onStoreFailure'], number[], string[]]>([
    ['local', [200, 200, 200, 429], ['default true', 'default true', 'default true', 'default false']],
    ['open', [200, 200, 200, 200], ['', '', '', '']],
    ['closed', [503, 503, 503, 503], ['', '', '', '']],
  ])("has the source 'store', and %j while Redis is unavailable", async (onStoreFailure, statuses, policies) => {
    const stopped = await RedisServer.start();
    const { app: http, events } = await app({ store: undefined!, redis: stopped.url, onStoreFailure });
    await using _ = http;
    try {
      await http.as('ada', '/inherited');
      expect(events.splice(0).map(({ source }) => source)).toEqual(['store']);
    } finally {
      await stopped.stop();
    }
    for (const status of statuses) expect((await http.as('ada', '/inherited')).status).toBe(status);
    expect(events.map(summary)).toEqual(
      policies.map((policy, i) => [
        'Routes.inherited',
        onStoreFailure,
        statuses[i] === 200,
        policy === '' ? [] : [policy],
      ]),
    );
    for (const { durationMs } of events) expect(durationMs).toBeGreaterThan(0);
  });

  it('is called for each decision of the middleware before routing', async () => {
    const { app: http, events } = await app({ middleware: [{ ...THREE, name: 'address', by: 'ip' }] });
    await using _ = http;
    await http.as('ada', '/inherited');
    await http.send('/nowhere');
    expect(events.map(summary)).toEqual([
      ['RateLimitMiddleware.use', 'store', true, ['address true']],
      ['Routes.inherited', 'store', true, ['default true']],
      ['RateLimitMiddleware.use', 'store', true, ['address true']],
    ]);
    const { requests, policies } = http.app.get(RateLimiter).stats();
    expect(requests).toBe(3);
    expect(policies.find(({ policy }) => policy === 'address')).toMatchObject({ requests: 2, allowed: 2 });
  });

  it('has another source for a rejection of the denial cache than for one of the store', async () => {
    const { app: http, events } = await app({ store: undefined!, redis: server.url, keyPrefix: platform });
    await using _ = http;
    for (let i = 0; i < 5; i++) await http.as('ada', '/inherited');
    expect(events.map(({ source }) => source)).toEqual(['store', 'store', 'store', 'store', 'denial-cache']);
    expect(events[4]!.decision).toMatchObject({ allowed: false, decidedBy: 'store' });
  });
});

describe('onDecision of the limiter', () => {
  const POLICY: Policy = { ...THREE, name: 'mails' };

  it('is called for consume, and not for peek, for cost 0 or for reset', async () => {
    const events: DecisionEvent[] = [];
    const options: RateLimitModuleOptions = { store: new StillStore(), onDecision: (event) => void events.push(event) };
    await using http = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
    const limiter = http.app.get(RateLimiter);
    const decision = await limiter.consume(POLICY, ADA, { cost: 2 });
    await limiter.peek(POLICY, ADA);
    await limiter.consume(POLICY, ADA, { cost: 0 });
    await expect(limiter.consume(POLICY, ADA, { cost: -1 })).rejects.toThrow(TypeError);
    await limiter.reset(POLICY, ADA);
    expect(events).toEqual([{ decision, source: 'store', route: undefined, durationMs: expect.any(Number) }]);
    expect(events[0]!.decision).toBe(decision);
  });

  it('is called for the share of decisionSampling for each of two alternating policies', async () => {
    const seen: Record<string, number> = { a: 0, b: 0 };
    const onDecision = ({ decision }: DecisionEvent): void => void seen[decision.policies[0]!.policy]!++;
    const imports = [
      RateLimitModule.forRoot({
        decisionSampling: 0.5,
        onDecision,
        policies: { a: THREE, b: THREE },
      }),
    ];
    await using http = await start('Express', { imports });
    const limiter = http.app.get(RateLimiter);
    for (let i = 0; i < 10_000; i++) await limiter.consume(i % 2 === 0 ? 'a' : 'b', ADA);
    // 10 standard deviations of 5,000 tosses are 354.
    for (const count of [seen.a!, seen.b!]) expect(Math.abs(count - 2500)).toBeLessThan(354);
  });
});

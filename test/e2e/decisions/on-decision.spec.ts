import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type DecisionEvent,
  type Policy,
  RateLimit,
  RateLimitConfigError,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
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

const redis = useRedis();

/** The fields of an event that are the same in every run. */
function summary({ decision, source, route }: DecisionEvent): unknown {
  return [route, source, decision.allowed, decision.policies.map(({ policy, allowed }) => `${policy} ${allowed}`)];
}

describe('onDecision', () => {
  async function app(options: RateLimitModuleOptions): Promise<{ app: HttpApp; events: DecisionEvent[] }> {
    const events: DecisionEvent[] = [];
    const onDecision = (event: DecisionEvent): void => void events.push(event);
    return {
      app: await limited('Express', Routes, {
        store: new StillStore(),
        identity: FROM_HEADERS,
        onDecision,
        ...options,
      }),
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

  it('is called in the async context of the request on Redis, so tracing finds its span', async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: string[] = [];
    const imports = [
      RateLimitModule.forRoot({
        redis: redis.server.url,
        deadline: '10s',
        onDecision: () => seen.push(requests.getStore() ?? 'none'),
      }),
    ];
    await using http = await start('Express', { imports });
    const limiter = http.app.get(RateLimiter);
    const names = Array.from({ length: 40 }, (_, i) => `request-${i}`);
    const consume = (name: string): Promise<unknown> =>
      requests.run(name, () => limiter.consume({ ...THREE, name: 'traced' }, { kind: 'user', value: 'traced' }));
    await Promise.all(names.map(consume));
    expect(new Set(seen)).toEqual(new Set(names));
    expect(seen).toHaveLength(names.length);
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
    await expect(limiter.consume(POLICY, ADA, { cost: -1 })).rejects.toThrow(RateLimitConfigError);
    await limiter.reset(POLICY, ADA);
    expect(events).toEqual([{ decision, source: 'store', route: undefined, durationMs: expect.any(Number) }]);
    expect(events[0]!.decision).toBe(decision);
  });
});

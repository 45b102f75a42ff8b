import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimitConfigError,
  RateLimiter,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { limited } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const BUCKET = { name: 'all', algorithm: 'token-bucket', capacity: 20, refill: '1/h', scope: 'app' } as const;
const ROOMY = { name: 'address', algorithm: 'fixed-window', limit: 1_000, window: '1h', scope: 'app' } as const;
const STRICT = { ...ROOMY, limit: 5 } as const;
const ROOMY_TEXT = 'is a fixed-window (limit 1000, window 3600000 ms)';
const STRICT_TEXT = "policy 'address' is a fixed-window (limit 5, window 3600000 ms)";
const SHARED = 'both count under one key';

function login(policy: PolicySource, ...more: PolicySource[]): Type {
  @Controller()
  class Session {
    @Get('login')
    @RateLimit(policy, ...more)
    login(): void {}
  }
  return Session;
}

function onClass(policy: Policy): Type {
  @Controller('class')
  @RateLimit(policy)
  class OnClass {
    @Get()
    get(): void {}
  }
  return OnClass;
}

function inZone(timeZone: string | (() => string), limit: number): Policy {
  return { name: 'address', algorithm: 'fixed-window', limit, window: { calendar: 'day', timeZone }, scope: 'app' };
}

@Controller('plain')
class Plain {
  @Get()
  get(): void {}
}

describe('different policies of one name', () => {
  const { scope: _scope, name: _name, ...roomy } = ROOMY;

  it.each<[string, Type | Type[], RateLimitModuleOptions, string, string]>([
    [
      'of the middleware and a route',
      login(STRICT),
      { middleware: [ROOMY] },
      `Session.login, @RateLimit: ${STRICT_TEXT}`,
      ROOMY_TEXT,
    ],
    [
      'of the middleware and the defaults',
      Plain,
      { middleware: [ROOMY], defaults: [STRICT] },
      'RateLimitModule, ',
      'limit 5, ',
    ],
    ['of the defaults and a route', [Plain, login(STRICT)], { defaults: [ROOMY] }, STRICT_TEXT, 'limit 1000, '],
    ['of two routes', [login(STRICT), onClass(ROOMY)], {}, 'limit 5, ', 'limit 1000, '],
    [
      'of a named policy and a route',
      login(STRICT),
      { policies: { address: roomy } },
      STRICT_TEXT,
      'RateLimitModule, policies.address',
    ],
  ])('stop the boot: %s', async (_case, controllers, options, one, other) => {
    const boot = limited('Express', controllers, { store: new StillStore(), ...options });
    const error = await boot.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(error).toBeInstanceOf(RateLimitConfigError);
    expect(error!.message).toContain(one);
    expect(error!.message).toContain(other);
    expect(error!.message).toContain(SHARED);
  });

  it.each<[string, Policy, Policy]>([
    ['buckets', BUCKET, { ...BUCKET, capacity: 6 }],
    ['rates', BUCKET, { ...BUCKET, refill: '2/h' }],
    ['lengths of a window', ROOMY, { ...ROOMY, window: '2h' }],
    ['algorithms', { ...BUCKET, name: 'address' }, ROOMY],
  ])('stop the boot, and are not two limits: different %s', async (_case, one, other) => {
    const text = "both have one name (scope 'app'), so that each would admit its limit";
    await expect(limited('Express', [login(one), onClass(other)], { store: new StillStore() })).rejects.toThrow(text);
    const { scope: __, ...named } = one;
    const policies = { [one.name!]: { ...named, name: one.name! } as Policy };
    const boot = limited('Express', login(other), { store: new StillStore(), policies });
    await expect(boot).rejects.toThrow(text);
    await using app = await limited('Express', Plain, { store: new StillStore(), policies });
    const { allowed } = await app.app.get(RateLimiter).consume(other, { kind: 'user', value: 'ada' });
    expect([allowed, app.logs.of('warn')]).toEqual([true, [expect.stringContaining(text)]]);
  });

  it('stop the boot: of a class and one of its methods in the same scope', async () => {
    @Controller()
    @RateLimit({ ...ROOMY, scope: 'controller' })
    class Both {
      @Get('one')
      one(): void {}

      @Get('two')
      @RateLimit({ ...STRICT, scope: 'controller' })
      two(): void {}
    }
    await expect(limited('Express', Both, { store: new StillStore() })).rejects.toThrow(
      /Both\.two, @RateLimit: .*limit 5, .*Both, @RateLimit is .*limit 1000, .*both count under one key/,
    );
  });

  it.each<[string, Type | Type[], RateLimitModuleOptions]>([
    ['in different fixed time zones', [login(inZone('Europe/Paris', 5)), onClass(inZone('Asia/Tokyo', 1_000))], {}],
    [
      'in different scopes',
      [login({ ...STRICT, scope: 'route' }), onClass({ ...ROOMY, scope: 'controller' })],
      { middleware: [{ ...ROOMY, limit: 7 }] },
    ],
    ['equal but written differently', login({ ...ROOMY, window: 3_600_000 }), { policies: { address: roomy } }],
  ])('do not stop the boot when they are %s', async (_case, controllers, options) => {
    await using app = await limited('Express', controllers, { store: new StillStore(), ...options });
    expect(app.logs.text).not.toContain(SHARED);
  });

  it('bring one warning when a function returns one of them, and the stricter limit holds', async () => {
    const store = new StillStore();
    const route = login(() => ({ ...STRICT }));
    await using app = await limited('Express', route, { store, policies: { address: roomy } });
    expect(await app.crowd(50, '/login')).toEqual({ 200: 5, 429: 45 });
    const said = app.logs.of('warn').filter((text) => text.includes(SHARED));
    expect(said).toEqual([expect.stringContaining(STRICT_TEXT)]);
    expect(said[0]).toContain(ROOMY_TEXT);
  });
});

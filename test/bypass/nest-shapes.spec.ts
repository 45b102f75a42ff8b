import { Controller, Get, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { LazyModuleLoader, REQUEST } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { limited, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const ADDRESS: Policy = { name: 'address', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const ADA = { kind: 'user', value: 'ada' };

describe.each(PLATFORMS)('a controller over %s', (platform) => {
  it('has the same limit when it and a provider are request-scoped', async () => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {
      constructor(@Inject(REQUEST) readonly request: object) {
        made++;
      }
    }
    @Controller({ scope: Scope.REQUEST })
    @RateLimit(ADDRESS)
    class Routes {
      constructor(
        @Inject(Tenant) readonly tenant: Tenant,
        @Inject(RateLimiter) readonly limiter: RateLimiter,
      ) {}

      @Get('one')
      async one(): Promise<number> {
        return (await this.limiter.peek({ ...ADDRESS, name: 'other' }, ADA)).policies[0]!.remaining;
      }

      @Get('two')
      two(): void {}
    }
    const store = new StillStore();
    const imports = [RateLimitModule.forRoot({ store })];
    await using app = await start(platform, { imports, controllers: [Routes], providers: [Tenant] });
    const statuses = [];
    for (const path of ['/one', '/two', '/one', '/two', '/one']) statuses.push((await app.send(path)).status);
    // Nest creates request-scoped instances before it calls guards, so also for rejected requests.
    expect([statuses, made]).toEqual([[200, 200, 200, 429, 429], 5]);
    const decision = await app.app.get(RateLimiter).peek([Routes, 'one'], { kind: 'ip', value: '127.0.0.1' });
    expect(decision).toMatchObject({ allowed: false, policies: [{ remaining: 0 }] });
    expect(app.logs.of('warn')).toEqual([]);
  });
});

describe.each(PLATFORMS)('a lazily loaded module over %s', (platform) => {
  @Controller()
  class Routes {
    @Get()
    get(): void {}
  }
  const options = () => ({ store: new StillStore(), defaults: [ADDRESS] });

  it('shares the limiter of the application: charges and resets of its providers count everywhere', async () => {
    @Injectable()
    class Mailer {
      constructor(@Inject(RateLimiter) readonly limiter: RateLimiter) {}

      @RateLimit(ADDRESS)
      mail(): string {
        return 'sent';
      }
    }
    @Controller('lazy')
    class LazyRoutes {
      @Get()
      @RateLimit(ADDRESS)
      get(): void {}
    }
    @Module({ providers: [Mailer], controllers: [LazyRoutes], exports: [Mailer] })
    class LazyModule {}
    await using app = await limited(platform, Routes, options());
    const loaded = await app.app.get(LazyModuleLoader).load(() => LazyModule);
    const mailer = loaded.get(Mailer);
    const policy: Policy = { ...ADDRESS, name: 'mails' };
    const own = app.app.get(RateLimiter);
    for (let i = 0; i < 3; i++) expect((await mailer.limiter.consume(policy, ADA)).allowed).toBe(true);
    expect((await own.consume(policy, ADA)).allowed).toBe(false);
    await mailer.limiter.reset(policy, ADA);
    expect((await own.consume(policy, ADA)).allowed).toBe(true);
    expect(mailer.mail()).toBe('sent');
    // Nest adds no routes of a lazily loaded module. The other routes stay limited.
    expect((await app.send('/lazy')).status).toBe(404);
    expect(await app.crowd(5, '/')).toEqual({ 200: 3, 429: 2 });
  });
});

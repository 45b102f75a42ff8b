import { Controller, Get, Injectable, type Type } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { ExternalContextCreator } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const BUCKET: Policy = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/h' };

/** What a gateway, a message handler or a resolver looks like to a guard. */
@Injectable()
class Handlers {
  @RateLimit(BUCKET)
  handle(message: string): string {
    return `handled ${message}`;
  }

  @RateLimit('no such policy')
  wrong(): void {}
}

@Controller()
class Routes {
  @Get()
  @RateLimit(BUCKET)
  get(): void {}
}

describe.each(PLATFORMS)('what is not HTTP, in an application over %s', (platform) => {
  it.each(['ws', 'rpc', 'graphql', 'anything'])('passes the guard untouched: %s', async (type) => {
    const store = new StillStore();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store, defaults: [{ ...BUCKET, name: 'defaults' }] })],
      controllers: [Routes],
      providers: [Handlers],
    });
    for (const method of ['handle', 'wrong'] as const) {
      // No request, no response: whatever the guard asked of them would throw.
      const context = new ExecutionContextHost([], Handlers as Type, Handlers.prototype[method]);
      context.setType(type);
      for (let i = 0; i < 3; i++) expect(await app.app.get(RateLimitGuard).canActivate(context)).toBe(true);
    }
    expect(store.asked).toEqual([]);
  });

  it('passes the application-wide guard untouched in an external context', async () => {
    const store = new StillStore();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store, defaults: [{ ...BUCKET, name: 'defaults' }] })],
      controllers: [Routes],
      providers: [Handlers],
    });
    const handlers = app.app.get(Handlers);
    const handle = (...args: unknown[]): unknown => handlers.handle(String(args[0]));
    const contexts = app.app.get(ExternalContextCreator);
    const none = undefined;
    const call = contexts.create(handlers, handle, 'handle', none, none, none, none, none, 'job');
    for (let i = 0; i < 3; i++) expect(await call('m')).toBe('handled m');
    expect(store.asked).toEqual([]);
    expect(await app.crowd(3, '/')).toEqual({ 200: 1, 429: 2 });
  });
});

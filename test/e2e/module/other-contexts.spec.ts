import { Controller, Get, Injectable, Module, type Type } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { type HttpApp, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: Policy = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/h' };

/** A provider with decorated methods, as a gateway, a message handler or a resolver is one. */
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

describe('a decorator without effect', () => {
  const warned = (app: HttpApp): string[] =>
    app.logs.of('warn').map((text) => text.replace(/: @RateLimit has no effect there: it limits routes, .*$/, ''));

  it('causes a warning at boot, on methods of providers and on methods of controllers that are no routes', async () => {
    @Injectable()
    @RateLimit(BUCKET)
    class Gateway extends Handlers {
      plain(): void {}
    }
    @Controller()
    class Mixed {
      @Get()
      @RateLimit(BUCKET)
      get(): void {}

      @RateLimit(BUCKET)
      onMessage(): void {}
    }
    @Controller()
    @RateLimit(BUCKET)
    class Messages {
      onMessage(): void {}
    }
    @Module({ providers: [Handlers] })
    class Feature {}
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ store: new StillStore() }), Feature],
      controllers: [Mixed, Messages],
      providers: [Handlers, Gateway],
    });
    expect(warned(app).toSorted()).toEqual([
      'Gateway',
      'Gateway.handle',
      'Gateway.wrong',
      'Handlers.handle',
      'Handlers.wrong',
      'Messages',
      'Mixed.onMessage',
    ]);
  });
});

describe('a context other than HTTP', () => {
  it('passes the guard uncounted where no adapter knows it', async () => {
    const store = new StillStore();
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ store, defaults: [{ ...BUCKET, name: 'defaults' }] })],
      controllers: [Routes],
      providers: [Handlers],
    });
    for (const method of ['handle', 'wrong'] as const) {
      // The context has no request and no response. The guard would throw if it used one.
      const context = new ExecutionContextHost([], Handlers as Type, Handlers.prototype[method]);
      context.setType('anything');
      for (let i = 0; i < 3; i++) expect(await app.app.get(RateLimitGuard).canActivate(context)).toBe(true);
    }
    expect(store.asked).toEqual([]);
    expect(app.logs.of('warn')).toContain(
      "Handlers.handle: contexts of type 'anything' are not limited, because no adapter knows them: give one in the option " +
        'contexts of RateLimitModule RateLimit',
    );
  });
});

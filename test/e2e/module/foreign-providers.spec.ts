import { type CanActivate, Controller, Get, Injectable, type Type, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import {
  documentRateLimits,
  type Policy,
  RateLimit,
  RateLimitConfigError,
  RateLimitModule,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { type HttpApp, PLATFORMS, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ONE: Policy = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '1h', by: 'ip' };

const TRAPS = [
  'apply',
  'construct',
  'defineProperty',
  'deleteProperty',
  'get',
  'getOwnPropertyDescriptor',
  'getPrototypeOf',
  'has',
  'isExtensible',
  'ownKeys',
  'preventExtensions',
  'set',
  'setPrototypeOf',
] as const;

/**
 * Stands for an object as the providers of nestjs-cls do for what belongs to a request: it throws at whatever the library asks.
 * What Nest's own packages ask passes.
 */
function untouchable<Target extends object>(target: Target): Target {
  const traps = TRAPS.map((trap) => [
    trap,
    (...args: unknown[]): unknown => {
      const [asks] = /libs\/(?:floodgate|nest)\/src|node_modules\/@nestjs/.exec(new Error('asked').stack!) ?? [];
      if (asks?.startsWith('libs/') === true) throw new Error(`${trap} ${String(args[1])}: not the library's to ask`);
      return (Reflect[trap] as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return new Proxy(target, Object.fromEntries(traps) as ProxyHandler<Target>);
}

class Passes implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

@Injectable()
class ProxiedGuard extends Passes {
  constructor() {
    super();
    return untouchable(this);
  }
}

const PROVIDERS = [
  { provide: 'an object', useFactory: () => untouchable({}) },
  { provide: 'a value', useValue: untouchable({}) },
  { provide: 'a function', useFactory: () => untouchable(() => undefined) },
  { provide: 'a factory that is a proxy', useFactory: untouchable(() => ({})) },
  { provide: APP_GUARD, useClass: ProxiedGuard },
  { provide: APP_GUARD, useFactory: () => untouchable(new Passes()) },
  ProxiedGuard,
];

@WebSocketGateway()
class ProxiedGateway {
  constructor() {
    return untouchable(this);
  }

  @SubscribeMessage('ask')
  ask(): string {
    return 'answered';
  }
}

@Controller()
class Limited {
  constructor() {
    return untouchable(this);
  }

  @Get()
  @RateLimit(ONE)
  @UseGuards(ProxiedGuard, untouchable(new Passes()))
  get(): string {
    return 'answered';
  }
}

describe.each(PLATFORMS)('providers that throw at whatever they are asked, on %s', (platform) => {
  const boot = (options: object, controllers: Type[] = [Limited]): Promise<HttpApp> =>
    start(
      platform,
      {
        imports: [RateLimitModule.forRoot({ store: new StillStore(), ...options })],
        controllers,
        providers: [...PROVIDERS, ProxiedGateway],
      },
      { configure: (app) => void app.useGlobalGuards(untouchable(new Passes())) },
    );

  it.each([
    ['routes', {}],
    ['routes with a guard bound elsewhere', { guard: false }],
    ['all traffic', { middleware: [{ ...ONE, name: 'all', limit: 5 }] }],
    ['users', { defaults: [{ ...ONE, name: 'users', by: 'user' }] }],
  ])('do not keep the application from limiting %s', async (_, options) => {
    await using app = await boot(options);
    expect((await app.send('/')).status).toBe(200);
    expect((await app.send('/')).status).toBe('guard' in options ? 200 : 429);
    const overrides = app.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'one', identity: { kind: 'ip', value: '192.0.2.1' } }, { limit: 9 });
    await expect(
      overrides.set({ policy: 'one', identity: { kind: 'tenant', value: 'a' } }, { limit: 9 }),
    ).rejects.toThrow(RateLimitConfigError);
    const document = SwaggerModule.createDocument(app.app, new DocumentBuilder().build());
    documentRateLimits(document, app.app);
    expect(Object.keys(document.paths['/']!.get!.responses)).toContain('200');
  });
});

describe('a gateway whose methods cannot be replaced', () => {
  it('boots, and its connections are said not to be limited', async () => {
    @WebSocketGateway()
    class Doors {
      constructor() {
        return Object.freeze(this);
      }

      @RateLimit(ONE)
      handleConnection(): void {}
    }
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ store: new StillStore() })],
      providers: [Doors],
    });
    expect(app.logs.of('warn')).toEqual([
      expect.stringContaining(
        'Doors.handleConnection: connections are not limited in a gateway that takes no other method',
      ),
    ]);
  });
});

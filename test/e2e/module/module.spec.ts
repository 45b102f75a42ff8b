import {
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type BoundPolicy,
  type Decision,
  identityTag,
  RateLimit,
  RateLimitConfigError,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited, limitHeaders, PLATFORMS, start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { StillStore } from '../../support/still-store.js';

@Controller()
class Routes {
  @Get()
  @RateLimit('two')
  get(): void {}

  @Get('plain')
  plain(): void {}
}

const OPTIONS = (): RateLimitModuleOptions => ({
  identity: FROM_HEADERS,
  store: new StillStore(),
  policies: { two: { algorithm: 'token-bucket', capacity: 2, refill: '1/h' } },
});

@Injectable()
class Settings {
  readonly limit = 2;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class OptionsFactory {
  constructor(@Inject(Settings) private readonly settings: Settings) {}

  async createRateLimitOptions(): Promise<RateLimitModuleOptions> {
    const { limit } = this.settings;
    return { ...OPTIONS(), policies: { two: { algorithm: 'token-bucket', capacity: limit, refill: '1/h' } } };
  }
}

@Module({ imports: [SettingsModule], providers: [OptionsFactory], exports: [OptionsFactory] })
class OptionsModule {}

const MODULES: [string, () => NonNullable<ModuleMetadata['imports']>][] = [
  ['forRoot', () => [RateLimitModule.forRoot(OPTIONS())]],
  ['forRootAsync with useFactory', () => [RateLimitModule.forRootAsync({ useFactory: OPTIONS })]],
  [
    'forRootAsync with an asynchronous useFactory',
    () => [RateLimitModule.forRootAsync({ useFactory: async () => OPTIONS() })],
  ],
  [
    'forRootAsync with useFactory, inject and imports',
    () => [
      RateLimitModule.forRootAsync({
        imports: [SettingsModule],
        inject: [Settings],
        useFactory: ({ limit }: Settings) => ({
          ...OPTIONS(),
          policies: { two: { algorithm: 'token-bucket', capacity: limit, refill: '1/h' } },
        }),
      }),
    ],
  ],
  [
    'forRootAsync with useClass',
    () => [RateLimitModule.forRootAsync({ imports: [SettingsModule], useClass: OptionsFactory })],
  ],
  [
    'forRootAsync with useExisting',
    () => [RateLimitModule.forRootAsync({ imports: [OptionsModule], useExisting: OptionsFactory })],
  ],
];

@Injectable()
class OwnGuard extends RateLimitGuard {
  static rejected: Decision[] = [];
  static tagged: string[] = [];
  @Inject(Settings) private readonly settings: Settings;

  protected override shouldSkip(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    return this.settings.limit === 2 && headers['x-internal'] === 'yes';
  }

  protected override async identityTag(policy: BoundPolicy, context: ExecutionContext): Promise<string> {
    const tag = await super.identityTag(policy, context);
    OwnGuard.tagged.push(`${policy.name} ${tag}`);
    return identityTag({ kind: 'everyone', value: 'together' });
  }

  protected override setHeaders(context: ExecutionContext, decision: Decision): void {
    super.setHeaders(context, decision);
    const response = context.switchToHttp().getResponse<unknown>();
    this.adapterHost.httpAdapter.setHeader(response, 'X-Decided-By', decision.decidedBy);
  }

  protected override refuse(_context: ExecutionContext, decision: Decision): never {
    OwnGuard.rejected.push(decision);
    throw new HttpException('busy', 420);
  }
}

describe.each(PLATFORMS)('over %s, the module', (platform) => {
  it.each(MODULES)('limits with %s', async (_, imports) => {
    await using app = await start(platform, { imports: imports(), controllers: [Routes] });
    expect(await app.crowd(5, '/')).toEqual({ 200: 2, 429: 3 });
    expect(await app.crowd(5, '/plain')).toEqual({ 200: 5 });
  });

  it.each<[string, ModuleMetadata['imports']]>([
    ['forRoot', [RateLimitModule.forRoot({ ...OPTIONS(), guard: false })]],
    ['forRootAsync', [RateLimitModule.forRootAsync({ useFactory: OPTIONS, guard: false })]],
  ])('registers no guard with guard: false in %s', async (_, imports) => {
    await using app = await start(platform, { imports, controllers: [Routes] });
    expect(await app.crowd(5, '/')).toEqual({ 200: 5 });
    expect(limitHeaders(await app.send('/'))).toEqual([]);
  });

  it('lets any module bind the guard with guard: false', async () => {
    @Controller('bound')
    @UseGuards(RateLimitGuard)
    class Bound {
      @Get()
      @RateLimit('two')
      get(): void {}
    }
    @Module({ controllers: [Bound] })
    class Feature {}
    const imports = [RateLimitModule.forRoot({ ...OPTIONS(), guard: false }), Feature];
    await using app = await start(platform, { imports, controllers: [Routes] });
    expect(await app.crowd(5, '/bound')).toEqual({ 200: 2, 429: 3 });
    expect(await app.crowd(5, '/')).toEqual({ 200: 5 });
  });

  it('counts a request once when the guard is bound several times', async () => {
    @Controller('twice')
    @UseGuards(RateLimitGuard)
    class Twice {
      @Get()
      @RateLimit('two')
      get(): void {}

      @Get('thrice')
      @UseGuards(RateLimitGuard)
      @RateLimit('two')
      thrice(): void {}
    }
    const store = new StillStore();
    await using app = await limited(platform, Twice, { ...OPTIONS(), store });
    for (const path of ['/twice', '/twice/thrice']) {
      const replies = [await app.send(path), await app.send(path), await app.send(path)];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(replies.map(left)).toEqual([1, 0, 0]);
    }
    expect(store.asked).toHaveLength(6);
  });

  it.each<[string, () => NonNullable<ModuleMetadata['imports']>]>([
    ['with forRoot', () => [RateLimitModule.forRoot(OPTIONS()), RateLimitModule.forRoot({ policies: {} })]],
    ['with the same options', () => [RateLimitModule.forRoot(), RateLimitModule.forRoot()]],
    [
      'with forRoot and with forRootAsync',
      () => [RateLimitModule.forRoot(OPTIONS()), RateLimitModule.forRootAsync({ useFactory: OPTIONS, guard: false })],
    ],
    [
      'the first time by a feature module',
      () => {
        @Module({ imports: [RateLimitModule.forRoot(OPTIONS())] })
        class Feature {}
        return [Feature, RateLimitModule.forRoot(OPTIONS())];
      },
    ],
  ])('stops the boot when it is imported twice: %s', async (_, imports) => {
    const boot = start(platform, { imports: imports(), controllers: [Routes] });
    await expect(boot).rejects.toBeInstanceOf(RateLimitConfigError);
    await expect(boot).rejects.toThrow(/^RateLimitModule.* is imported twice/);
  });

  it('may be imported by several modules when forRoot is called once', async () => {
    const limits = RateLimitModule.forRoot(OPTIONS());
    @Module({ imports: [limits] })
    class Feature {}
    await using app = await start(platform, { imports: [limits, Feature], controllers: [Routes] });
    expect(await app.crowd(5, '/')).toEqual({ 200: 2, 429: 3 });
  });

  it('works with a subclass of the guard that overrides each step', async () => {
    OwnGuard.rejected = [];
    OwnGuard.tagged = [];
    const options = OPTIONS();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ ...options, guard: false }), SettingsModule],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: OwnGuard }],
    });
    expect((await app.send('/', { headers: { 'X-Internal': 'yes' } })).headers).not.toHaveProperty('x-decided-by');
    const replies = [await app.as('ada', '/'), await app.as('bob', '/'), await app.as('eve', '/')];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 420]);
    expect(replies.map(({ headers }) => headers['x-decided-by'])).toEqual(['store', 'store', 'store']);
    expect(OwnGuard.tagged).toEqual(['two user:ada', 'two user:bob', 'two user:eve']);
    expect(OwnGuard.rejected).toMatchObject([{ allowed: false, policies: [{ policy: 'two', remaining: 0 }] }]);
    expect((options.store as StillStore).keys).toEqual(['rl:{everyone:together}:GET /:two:tb:2@1/3600000000']);
  });

  it('logs at boot where limits are kept', async () => {
    await using server = await RedisServer.start();
    const client = new Redis(server.url);
    const bootLine = async (options: RateLimitModuleOptions): Promise<string> => {
      await using app = await limited(platform, Routes, { ...OPTIONS(), store: undefined, ...options });
      return app.logs.of('log').find((text) => text.startsWith('Limits are kept')) ?? '';
    };
    expect(await bootLine({})).toContain('in this process');
    expect(await bootLine({ redis: '' })).toContain('in this process');
    expect(await bootLine({ redis: server.url })).toContain('in Redis');
    expect(await bootLine({ redis: { host: server.host, port: server.port } })).toContain('in Redis');
    expect(await bootLine({ redis: client })).toContain('in Redis');
    expect(await bootLine({ store: new StillStore() })).toContain('StillStore');
    client.disconnect();
  });

  it('takes an object of any class as a client when it has evalsha, eval and del', async () => {
    await using server = await RedisServer.start();
    const client = new Redis(server.url);
    const plain = {
      evalsha: (sha: string, keys: number, ...args: string[]) => client.evalsha(sha, keys, ...args),
      eval: (script: string, keys: number, ...args: string[]) => client.eval(script, keys, ...args),
      del: (key: string) => client.del(key),
    };
    const { store: __, ...options } = OPTIONS();
    await using app: HttpApp = await limited(platform, Routes, { ...options, redis: plain });
    expect(await app.crowd(5, '/')).toEqual({ 200: 2, 429: 3 });
    expect(await client.keys('*')).toHaveLength(1);
    expect(app.logs.of('warn')).toEqual([]);
    client.disconnect();
  });

  it("limits on Redis with clock: 'app'", async () => {
    await using server = await RedisServer.start();
    const { store: __, ...options } = OPTIONS();
    await using app = await limited(platform, Routes, { ...options, redis: server.url, clock: 'app' });
    expect(await app.crowd(5, '/')).toEqual({ 200: 2, 429: 3 });
  });

  it('begins its keys with keyPrefix', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { ...OPTIONS(), store, keyPrefix: 'shop:limits' });
    await app.as('ada', '/');
    expect(store.keys).toEqual(['shop:limits:{user:ada}:GET /:two:tb:2@1/3600000000']);
  });

  it('limits no route of a class with @SkipRateLimit by its defaults', async () => {
    @Controller('skipped')
    @SkipRateLimit()
    class Skipped {
      @Get()
      get(): void {}
    }
    const defaults = ['two'];
    await using app = await limited(platform, [Routes, Skipped], { ...OPTIONS(), defaults });
    expect(await app.crowd(4, '/skipped')).toEqual({ 200: 4 });
    expect(await app.crowd(4, '/plain')).toEqual({ 200: 2, 429: 2 });
  });
});

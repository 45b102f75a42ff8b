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
import {
  type BoundPolicy,
  type Decision,
  identityTag,
  RateLimit,
  RateLimitConfigError,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { FROM_HEADERS, left, limited, start } from '../../support/http-app.js';
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

describe('the module', () => {
  it.each(MODULES)('limits with %s', async (_, imports) => {
    await using app = await start('Express', { imports: imports(), controllers: [Routes] });
    expect(await app.crowd(5, '/')).toEqual({ 200: 2, 429: 3 });
    expect(await app.crowd(5, '/plain')).toEqual({ 200: 5 });
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
    await using app = await limited('Express', Twice, { ...OPTIONS(), store });
    for (const path of ['/twice', '/twice/thrice']) {
      const replies = [await app.send(path), await app.send(path), await app.send(path)];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(replies.map(left)).toEqual([1, 0, 0]);
    }
    expect(store.asked).toHaveLength(6);
  });

  it.each<[string, () => NonNullable<ModuleMetadata['imports']>]>([
    ['with forRoot', () => [RateLimitModule.forRoot(OPTIONS()), RateLimitModule.forRoot({ policies: {} })]],
    [
      'with forRoot and with forRootAsync',
      () => [RateLimitModule.forRoot(OPTIONS()), RateLimitModule.forRootAsync({ useFactory: OPTIONS, guard: false })],
    ],
  ])('stops the boot when it is imported twice: %s', async (_, imports) => {
    const boot = start('Express', { imports: imports(), controllers: [Routes] });
    await expect(boot).rejects.toBeInstanceOf(RateLimitConfigError);
    await expect(boot).rejects.toThrow(/^RateLimitModule.* is imported twice/);
  });

  it('may be imported by several modules when forRoot is called once', async () => {
    const limits = RateLimitModule.forRoot(OPTIONS());
    @Module({ imports: [limits] })
    class Feature {}
    await using app = await start('Express', { imports: [limits, Feature], controllers: [Routes] });
    expect(await app.crowd(5, '/')).toEqual({ 200: 2, 429: 3 });
  });

  it('works with a subclass of the guard that overrides each step', async () => {
    OwnGuard.rejected = [];
    OwnGuard.tagged = [];
    const options = OPTIONS();
    await using app = await start('Express', {
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
});

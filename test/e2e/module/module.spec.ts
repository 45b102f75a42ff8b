import { Controller, Get, Inject, Injectable, Module, type ModuleMetadata, UseGuards } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
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
});

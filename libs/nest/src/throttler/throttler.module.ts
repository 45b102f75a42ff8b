import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { RateLimitModule } from '../module/rate-limit.module.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { RateLimitConfigError } from 'floodgate';
import { ThrottlerBootChecks } from './boot-checks.js';
import { engineOptionsOf } from './check-options.js';
import type { ThrottlerAsyncOptions, ThrottlerModuleOptions, ThrottlerOptionsFactory } from './options.js';
import { ThrottlerStorageService } from './storage.js';
import { getOptionsToken, getStorageToken, THROTTLER_PRESENT } from './tokens.js';

/** Provides the options, for this module and for the engine's. */
@Module({})
class ThrottlerOptionsModule {}

/**
 * The module of @nestjs/throttler 6 on Floodgate's engine: for an application that moves by a change of its imports. It brings
 * `RateLimitModule` with it, so that routes can have `@RateLimit` one by one.
 *
 * @example
 * ```ts
 * \@Module({
 *   imports: [ThrottlerModule.forRoot({ throttlers: [{ limit: 10, ttl: 60_000 }], redis: process.env.REDIS_URL })],
 *   providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
 * })
 * export class AppModule {}
 * ```
 */
@Module({})
export class ThrottlerModule {
  /**
   * @param options throttlers, or an object with them; default none
   * @throws {RateLimitConfigError} at boot, naming the option, what was given and what would be right
   */
  static forRoot(options: ThrottlerModuleOptions = []): DynamicModule {
    return definition({ provide: getOptionsToken(), useValue: options });
  }

  /** Takes the options of `forRoot` from a factory or a class. */
  static forRootAsync(options: ThrottlerAsyncOptions): DynamicModule {
    const { imports = [], useFactory, useClass, useExisting, inject = [] } = options;
    const provide = getOptionsToken();
    if (useFactory !== undefined) return definition({ provide, useFactory, inject }, imports);
    const factory = useExisting ?? useClass;
    if (factory === undefined) {
      throw new RateLimitConfigError(
        'ThrottlerModule.forRootAsync',
        'needs one of useFactory, useClass and useExisting',
        'FG_MODULE_IMPORT',
      );
    }
    const provider: Provider = {
      provide,
      useFactory: (made: ThrottlerOptionsFactory) => made.createThrottlerOptions(),
      inject: [factory],
    };
    return definition(provider, imports, useExisting === undefined ? [factory] : []);
  }
}

function definition(options: Provider, imports: DynamicModule['imports'] = [], more: Provider[] = []): DynamicModule {
  const provided: DynamicModule = {
    module: ThrottlerOptionsModule,
    imports,
    providers: [...more, options],
    exports: [getOptionsToken()],
  };
  const engine = RateLimitModule.forRootAsync({
    imports: [provided],
    inject: [getOptionsToken()],
    useFactory: (given: ThrottlerModuleOptions) => engineOptionsOf(given),
  });
  const storage: Provider = {
    provide: getStorageToken(),
    inject: [RateLimitRuntime],
    useFactory: ({ parts }: RateLimitRuntime) => new ThrottlerStorageService(parts),
  };
  return {
    module: ThrottlerModule,
    global: true,
    imports: [provided, engine, DiscoveryModule],
    providers: [storage, ThrottlerBootChecks, { provide: THROTTLER_PRESENT, useValue: true }],
    exports: [provided, getStorageToken(), THROTTLER_PRESENT],
  };
}

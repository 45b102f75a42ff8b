import { type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, MetadataScanner } from '@nestjs/core';
import { RateLimitGuard } from './rate-limit.guard.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
} from './rate-limit.module-definition.js';
import { RateLimitMiddleware } from './rate-limit.middleware.js';
import { checkOptions, type RateLimitModuleOptions } from './options/module-options.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { RateLimiter } from '../limiter/rate-limiter.js';

/**
 * Rate limiting for the whole application. Import it once, in the root module.
 *
 * @example
 * ```ts
 * \@Module({ imports: [RateLimitModule.forRoot({ redis: process.env.REDIS_URL })] })
 * export class AppModule {}
 * ```
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: RateLimitRuntime,
      inject: [MODULE_OPTIONS_TOKEN, DiscoveryService, MetadataScanner, HttpAdapterHost],
      useFactory: (
        options: RateLimitModuleOptions,
        discovery: DiscoveryService,
        scanner: MetadataScanner,
        adapterHost: HttpAdapterHost,
      ) => RateLimitRuntime.create(checkOptions(options), discovery, scanner, adapterHost),
    },
    { provide: RateLimiter, inject: [RateLimitRuntime], useFactory: (runtime: RateLimitRuntime) => runtime.limiter },
    RateLimitGuard,
    RateLimitMiddleware,
  ],
  exports: [RateLimitRuntime, RateLimiter, RateLimitGuard],
})
export class RateLimitModule extends ConfigurableModuleClass {
  /**
   * @param options where limits are kept, and what limits routes that say nothing; all of them optional
   * @throws at boot, {RateLimitConfigError} naming the option, what was given and what would be right
   */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** The same with options from a factory or class; `guard` is static all the same. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }
}

import { type DynamicModule, Module } from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, DiscoveryService, HttpAdapterHost, MetadataScanner } from '@nestjs/core';
import { isGuarded } from '../boot/application-guard.js';
import { RateLimitGuard } from '../guard/rate-limit.guard.js';
import {
  type ASYNC_OPTIONS_TYPE,
  CONFIGURED,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
} from './rate-limit.module-definition.js';
import { RateLimitGateways } from '../guard/rate-limit.gateways.js';
import { PLAIN_GUARD, RateLimitMiddleware } from '../guard/rate-limit.middleware.js';
import { warnOfCopies } from './copies.js';
import { checkOptions, checkShape } from '../options/check-options.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import { DecisionBinder } from '../decisions/decision-binder.js';
import { CallBinder } from '../exchanges/call-binder.js';
import { GlobalGuards, GlobalGuardsBinder } from '../boot/global-guards.js';
import { GuardOrder } from '../boot/guard-order.js';
import { LocalFilter, LocalFilterBinder } from '../boot/local-filters.js';
import { RATE_LIMIT_PRESENT } from '../decorators/presence.js';
import { RateLimitExceptionFilter } from '../guard/rate-limit-exception.filter.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { RateLimitConfigError } from '../../util/config-error.js';
import { RateLimitOverrides } from '../../engine/overrides/rate-limit-overrides.js';
import { RateLimiter } from '../../engine/calls/rate-limiter.js';
import type { RateLimitStore } from '../../stores/store.js';
import { RATE_LIMIT_STORE } from './open-store.js';

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
      inject: [
        { token: MODULE_OPTIONS_TOKEN, optional: true },
        DiscoveryService,
        MetadataScanner,
        HttpAdapterHost,
        { token: CONFIGURED, optional: true },
        RATE_LIMIT_STORE,
        ApplicationConfig,
      ],
      useFactory: (
        options: RateLimitModuleOptions,
        discovery: DiscoveryService,
        scanner: MetadataScanner,
        adapterHost: HttpAdapterHost,
        configured: true | undefined,
        override: RateLimitStore | null,
        application: ApplicationConfig,
      ) => {
        if (configured === undefined) throw importedPlain();
        return RateLimitRuntime.create(
          checkOptions(options),
          discovery,
          scanner,
          adapterHost,
          override,
          (type, handler) => isGuarded(application, type, handler),
        );
      },
    },
    { provide: RateLimiter, inject: [RateLimitRuntime], useFactory: (runtime: RateLimitRuntime) => runtime.limiter },
    {
      provide: RateLimitOverrides,
      inject: [RateLimitRuntime],
      useFactory: (runtime: RateLimitRuntime) => runtime.overrides,
    },
    { provide: RATE_LIMIT_STORE, useValue: null },
    RateLimitGuard,
    { provide: PLAIN_GUARD, useClass: RateLimitGuard },
    RateLimitMiddleware,
    GlobalGuards,
    GlobalGuardsBinder,
    GuardOrder,
    LocalFilter,
    LocalFilterBinder,
    CallBinder,
    DecisionBinder,
    RateLimitGateways,
    RateLimitExceptionFilter,
    {
      provide: RATE_LIMIT_PRESENT,
      // It needs nothing, so that Nest makes it before it misses an injected class of another copy.
      useFactory: () => {
        warnOfCopies();
        return true;
      },
    },
  ],
  exports: [RateLimitRuntime, RateLimiter, RateLimitOverrides, RateLimitGuard, RATE_LIMIT_PRESENT],
})
export class RateLimitModule extends ConfigurableModuleClass {
  /**
   * @param options all of them optional
   * @throws {RateLimitConfigError} at boot, or at once for an array, naming the option, what was given and what would be right
   */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    if (Array.isArray(options)) checkShape(options); // Nest would make an object of it
    return super.forRoot(options);
  }

  /** Takes the options of `forRoot` from a factory or a class. `guard` stands beside the factory. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }
}

function importedPlain(): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitModule',
    'is imported without options: import RateLimitModule.forRoot() or RateLimitModule.forRootAsync({ ... }) in the root module',
    'FG_MODULE_IMPORT',
  );
}

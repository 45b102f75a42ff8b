import { type DynamicModule, type FactoryProvider, type InjectionToken, Module } from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, DiscoveryService, HttpAdapterHost, MetadataScanner } from '@nestjs/core';
import { RateLimitConfigError, RateLimiter, RateLimitOverrides, type RateLimitStore } from 'floodgate';
import { RATE_LIMIT_PRESENT } from '../decorators/presence.js';
import { RateLimitGuard } from '../guard/rate-limit.guard.js';
import { checkShape } from '../options/check-shape.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import type { Copy } from 'floodgate/internal';
import { warnOfCopies } from './copies.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
} from './rate-limit.module-definition.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import { CONFIGURED } from './single-runtime.js';
import { RATE_LIMIT_STORE } from '../options/store-token.js';

type AtBoot = typeof import('./at-boot.js');

/** What the module loads when an application boots: nearly all of the library. */
const AT_BOOT = Symbol('RateLimitModule, loaded at boot');
const PLAIN_GUARD = Symbol('RateLimitGuard of the middleware');
const GLOBAL_GUARDS = Symbol('GlobalGuards');
const LOCAL_FILTER = Symbol('LocalFilter');

/** A token for each parameter. */
type TokensOf<Parameters extends readonly unknown[]> = { [Parameter in keyof Parameters]: InjectionToken };

/** Provides an instance of a class that is loaded at boot. */
function provided<Name extends Exclude<keyof AtBoot, 'AssembledRuntime'>>(
  name: Name,
  inject: TokensOf<ConstructorParameters<AtBoot[Name]>>,
  provide = Symbol(name),
): FactoryProvider<object> {
  const useFactory = (atBoot: AtBoot, ...services: unknown[]): object => {
    const Loaded = atBoot[name] as unknown as new (...args: unknown[]) => object;
    return new Loaded(...services);
  };
  return { provide, inject: [AT_BOOT, ...inject], useFactory };
}

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
    { provide: AT_BOOT, useFactory: () => loadAtBoot() },
    {
      provide: RateLimitRuntime,
      inject: [
        AT_BOOT,
        { token: MODULE_OPTIONS_TOKEN, optional: true },
        DiscoveryService,
        MetadataScanner,
        HttpAdapterHost,
        { token: CONFIGURED, optional: true },
        RATE_LIMIT_STORE,
        ApplicationConfig,
      ],
      useFactory: (
        { AssembledRuntime }: AtBoot,
        options: RateLimitModuleOptions,
        discovery: DiscoveryService,
        scanner: MetadataScanner,
        adapterHost: HttpAdapterHost,
        configured: Copy | undefined,
        override: RateLimitStore | null,
        application: ApplicationConfig,
      ) => {
        if (configured === undefined) throw importedPlain();
        // Nest 10 has no such subject. npm installs the package beside it with --legacy-peer-deps.
        if ((adapterHost as Partial<HttpAdapterHost>).init$ === undefined) throw nestIsTooOld();
        return AssembledRuntime.create(options, discovery, scanner, adapterHost, override, application);
      },
    },
    {
      provide: RateLimiter,
      inject: [RateLimitRuntime],
      useFactory: (runtime: RateLimitRuntime) => runtime.parts.limiter,
    },
    {
      provide: RateLimitOverrides,
      inject: [RateLimitRuntime],
      useFactory: (runtime: RateLimitRuntime) => runtime.parts.overrides,
    },
    { provide: RATE_LIMIT_STORE, useValue: null },
    RateLimitGuard,
    { provide: PLAIN_GUARD, useClass: RateLimitGuard },
    provided('RateLimitMiddleware', [
      RateLimitRuntime,
      DiscoveryService,
      ApplicationConfig,
      HttpAdapterHost,
      PLAIN_GUARD,
    ]),
    provided('GlobalGuards', [ApplicationConfig], GLOBAL_GUARDS),
    provided('LocalFilter', [RateLimitRuntime], LOCAL_FILTER),
    provided('HandlerBinder', [RateLimitRuntime, DiscoveryService, MetadataScanner, GLOBAL_GUARDS, LOCAL_FILTER]),
    provided('RateLimitGateways', [RateLimitRuntime, DiscoveryService, ApplicationConfig, HttpAdapterHost]),
    provided('RateLimitExceptionFilter', [RateLimitRuntime, HttpAdapterHost, ApplicationConfig]),
    {
      provide: RATE_LIMIT_PRESENT,
      // This factory injects nothing, so that it warns before Nest misses an injected class of another copy.
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
    if (Array.isArray(options)) checkShape(options); // Nest would make an object of the array
    return super.forRoot(options);
  }

  /** Takes the options of `forRoot` from a factory or a class. `guard` stands beside the factory. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }
}

/** Returns an object with a prototype, which explorers of providers expect, and which a namespace lacks. */
async function loadAtBoot(): Promise<AtBoot> {
  const atBoot = await import('./at-boot.js');
  return { ...atBoot };
}

function importedPlain(): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitModule',
    'is imported without options: import RateLimitModule.forRoot() or RateLimitModule.forRootAsync({ ... }) in the root module',
    'FG_MODULE_IMPORT',
  );
}

function nestIsTooOld(): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitModule',
    'needs Nest 11.1.4 or newer, got Nest 10 or older: update @nestjs/common, @nestjs/core and the platform',
    'FG_MODULE_IMPORT',
  );
}

import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { RateLimitConfigError } from 'floodgate';
import { shown, withHelp } from 'floodgate/internal';
import { DEFAULT_NAME } from 'floodgate/internal-boot';
import { checkResolvables, numberOf, throttlersOf } from './check-options.js';
import { InjectThrottlerOptions, overridesOf, skipsOf } from './decorators.js';
import type { ThrottlerModuleOptions, ThrottlerOptions } from './options.js';
import { isGuarded } from './throttler.guard.js';
import { classesOf } from '../contexts/limitable-handlers.js';
import type { Handler } from '../handlers/route.js';
import { RateLimitLogger } from '../handlers/logger.js';

/** How the metadata of @nestjs/throttler begins. */
const FOREIGN = 'THROTTLER:';
/** A `ttl` below is probably meant in seconds, as @nestjs/throttler 4 had it. */
const SHORT_TTL_MS = 1000;

/** Warns at boot of options without an effect, and stops the boot for options that cannot work. */
@Injectable()
export class ThrottlerBootChecks implements OnModuleInit, OnApplicationBootstrap {
  @Inject(DiscoveryService) private readonly discovery!: DiscoveryService;
  @Inject(MetadataScanner) private readonly scanner!: MetadataScanner;
  private readonly logger = new RateLimitLogger();

  constructor(@InjectThrottlerOptions() private readonly options: ThrottlerModuleOptions) {}

  onModuleInit(): void {
    const throttlers = throttlersOf(this.options);
    const names = throttlers.map(({ name = DEFAULT_NAME }) => name);
    for (const [i, throttler] of throttlers.entries())
      this.warnOfShortTtl(throttler, `ThrottlerModule, throttlers[${i}]`);
    const checked = new Set<object>();
    for (const { type, method, place } of this.decoratable()) {
      const decorated = method ?? type;
      if (checked.has(decorated)) continue;
      checked.add(decorated);
      this.check(type, method, place, names);
    }
  }

  /** Guards of routes exist by now. */
  onApplicationBootstrap(): void {
    if (throttlersOf(this.options).length === 0 || isGuarded(this.options)) return;
    this.logger.warn(
      withHelp(
        'ThrottlerModule: no ThrottlerGuard is bound, so nothing is limited: provide { provide: APP_GUARD, useClass: ' +
          'ThrottlerGuard }, or put @UseGuards(ThrottlerGuard) on controllers, with ThrottlerGuard of nestjs-floodgate/throttler',
        'FG_NOT_LIMITED',
      ),
    );
  }

  private check(type: Type, method: Handler | undefined, place: string, names: readonly string[]): void {
    const foreign = Reflect.getMetadataKeys(method ?? type).some(
      (key) => typeof key === 'string' && key.startsWith(FOREIGN),
    );
    if (foreign) {
      throw new RateLimitConfigError(
        place,
        'has a decorator of @nestjs/throttler, which has no effect on ThrottlerModule of nestjs-floodgate/throttler: import ' +
          'Throttle and SkipThrottle from there',
        'FG_DECORATOR',
      );
    }
    for (const [name, override] of Object.entries(overridesOf(type, method))) {
      const where = `${place}, @Throttle, ${shown(name)}`;
      checkResolvables(override, where);
      this.warnOfShortTtl(override, where);
      if (!names.includes(name)) this.warnOfUnknown(where, names);
    }
    const skipped = Object.keys(skipsOf(type, method));
    for (const name of skipped) {
      if (!names.includes(name)) this.warnOfUnknown(`${place}, @SkipThrottle, ${shown(name)}`, names);
    }
  }

  private warnOfUnknown(where: string, names: readonly string[]): void {
    const all =
      names.length === 0 ? 'The module has no throttlers' : `The throttlers are ${names.map(shown).join(', ')}`;
    this.logger.warn(
      withHelp(`${where}: has no effect, because no throttler has this name. ${all}`, 'FG_OPTION_WITHOUT_EFFECT'),
    );
  }

  private warnOfShortTtl({ ttl }: Partial<Pick<ThrottlerOptions, 'ttl'>>, where: string): void {
    const milliseconds = numberOf(ttl);
    if (typeof milliseconds !== 'number' || milliseconds >= SHORT_TTL_MS) return;
    this.logger.warn(
      withHelp(
        `${where}: ttl is ${milliseconds} milliseconds; for ${milliseconds} seconds write seconds(${milliseconds})`,
        'FG_POLICY_NUMBERS',
      ),
    );
  }

  /** Classes and methods that Nest may call. */
  private *decoratable(): Iterable<{ readonly type: Type; readonly method?: Handler; readonly place: string }> {
    for (const type of classesOf([...this.discovery.getControllers(), ...this.discovery.getProviders()])) {
      const { name, prototype } = type;
      yield { type, place: name };
      const methods = prototype as Readonly<Record<string, Handler>>;
      for (const method of this.scanner.getAllMethodNames(prototype as object)) {
        yield { type, method: methods[method]!, place: `${name}.${method}` };
      }
    }
  }
}

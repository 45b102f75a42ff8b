import 'reflect-metadata';
import { Inject, type Type, UseFilters } from '@nestjs/common';
import { expectParentheses, placeOf } from '../decorators/decorate.js';
import { defineMetadata, ownMetadata } from '../handlers/metadata.js';
import { methodMetadata } from '../handlers/read-metadata.js';
import { presenceCheck } from '../decorators/presence.js';
import type { Handler } from '../handlers/route.js';
import { RateLimitConfigError } from 'floodgate';
import { checkNames, shown } from 'floodgate/internal';
import type { Resolvable, ThrottlerGenerateKeyFunction, ThrottlerGetTrackerFunction } from './options.js';
import { getOptionsToken, getStorageToken, THROTTLER_PRESENT } from './tokens.js';

/** The options of `@Throttle` for one throttler. An option that is left out is that of the class, else of the module. */
export interface ThrottleOverride {
  limit?: Resolvable<number>;
  /** Milliseconds. */
  ttl?: Resolvable<number>;
  /** Milliseconds. */
  blockDuration?: Resolvable<number>;
  getTracker?: ThrottlerGetTrackerFunction;
  generateKey?: ThrottlerGenerateKeyFunction;
}

/** Options by the names of throttlers. */
export type ThrottleOverrides = Readonly<Record<string, ThrottleOverride>>;
export type ThrottleSkips = Readonly<Record<string, boolean>>;

const THROTTLE = 'nestjs-floodgate:throttle';
const SKIP = 'nestjs-floodgate:skip-throttle';
const OVERRIDES = ['limit', 'ttl', 'blockDuration', 'getTracker', 'generateKey'] as const;

/** The metadata of `@Throttle` on a method, or without one on its class or a base class. */
export function overridesOf(type: Type, method?: Handler): ThrottleOverrides {
  return (metadataOf(THROTTLE, type, method) as ThrottleOverrides | undefined) ?? {};
}

/** The metadata of `@SkipThrottle` there. */
export function skipsOf(type: Type, method?: Handler): ThrottleSkips {
  return (metadataOf(SKIP, type, method) as ThrottleSkips | undefined) ?? {};
}

function metadataOf(key: string, type: Type, method: Handler | undefined): unknown {
  return method === undefined ? Reflect.getMetadata(key, type) : methodMetadata(key, type, method);
}

/**
 * Gives throttlers other numbers, trackers or keys on a route or on all routes of a class. The routes of a class still count one
 * by one. Throttlers that it does not name stay as they are.
 *
 * @example @Throttle({ default: { limit: 3, ttl: 60_000 } })
 * @throws {RateLimitConfigError} for an option that @nestjs/throttler 6 does not have. The numbers are checked at boot
 */
export function Throttle(
  options: Record<string, ThrottleOverride>,
  ...more: never[]
): MethodDecorator & ClassDecorator {
  expectParentheses('@Throttle', [options, ...more], '@Throttle({ default: { limit: 3, ttl: 60_000 } })');
  return leave('@Throttle', THROTTLE, options, (override, where) => {
    if (typeof override !== 'object' || override === null) {
      throw new RateLimitConfigError(
        where,
        `must be an object such as { limit: 3, ttl: 60_000 }, got ${shown(override)}`,
      );
    }
    checkNames(override, OVERRIDES, where, '@Throttle');
  });
}

/**
 * Leaves throttlers out on a route or on all routes of a class.
 *
 * Without an argument it leaves out the throttler named `default` and no other: name the others.
 *
 * @param skip by name; false counts a route of a class that is left out. Default `{ default: true }`
 * @example @SkipThrottle({ short: true, long: true })
 */
export function SkipThrottle(
  skip: Record<string, boolean> = { default: true },
  ...more: never[]
): MethodDecorator & ClassDecorator {
  expectParentheses('@SkipThrottle', [skip, ...more], '@SkipThrottle()');
  return leave('@SkipThrottle', SKIP, skip, (value, where) => {
    if (typeof value === 'boolean') return;
    throw new RateLimitConfigError(where, `must be true or false, got ${shown(value)}`);
  });
}

/** Injects the options that `ThrottlerModule` was given. */
export const InjectThrottlerOptions = (): PropertyDecorator & ParameterDecorator => Inject(getOptionsToken());

/** Injects the storage. */
export const InjectThrottlerStorage = (): PropertyDecorator & ParameterDecorator => Inject(getStorageToken());

function leave(
  decorator: string,
  metadata: string,
  byName: Readonly<Record<string, unknown>>,
  check: (value: unknown, where: string) => void,
): MethodDecorator & ClassDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const place = placeOf(target, property);
    if (typeof byName !== 'object' || byName === null) {
      throw new RateLimitConfigError(
        place,
        `${decorator} takes an object by the names of throttlers, got ${shown(byName)}`,
        'FG_DECORATOR',
      );
    }
    if (property !== undefined && typeof descriptor?.value !== 'function') {
      throw new RateLimitConfigError(
        place,
        `${decorator} belongs on a class or on a method that handles requests`,
        'FG_DECORATOR',
      );
    }
    for (const [name, value] of Object.entries(byName)) check(value, `${place}, ${decorator}, ${shown(name)}`);
    const before = (
      property === undefined
        ? Reflect.getMetadata(metadata, target)
        : ownMetadata(metadata, target, property, descriptor)
    ) as object | undefined;
    defineMetadata(metadata, Object.freeze({ ...before, ...byName }), target, property, descriptor);
    const filter = UseFilters(
      presenceCheck(
        THROTTLER_PRESENT,
        `${place}: ${decorator} has no effect, because ThrottlerModule is not imported: add ` +
          'ThrottlerModule.forRoot([...]) of nestjs-floodgate/throttler to the imports of the root module',
      ),
    );
    if (property === undefined) filter(target as Type);
    else filter(target, property, descriptor!);
  };
}

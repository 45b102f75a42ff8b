import type { Type } from '@nestjs/common';
import type { Handler } from '../handlers/route.js';
import { overridesOf, skipsOf, type ThrottleOverride } from './decorators.js';
import type { ThrottlerOptions } from './options.js';

/** A throttler as the decorators of a handler and its class have it. */
export interface RouteThrottler {
  readonly throttler: ThrottlerOptions;
  /** Whether `@SkipThrottle` leaves it out. */
  readonly skipped: boolean;
  readonly overrides: ThrottleOverride;
}

/** Reads the decorators of each handler once. */
export class RouteThrottlers {
  private readonly known = new WeakMap<object, WeakMap<object, readonly RouteThrottler[]>>();

  constructor(private readonly throttlers: readonly ThrottlerOptions[]) {}

  /** The throttlers of a handler, in their order. */
  of(controller: Type, handler: Handler): readonly RouteThrottler[] {
    let byController = this.known.get(handler);
    if (byController === undefined) this.known.set(handler, (byController = new WeakMap()));
    let found = byController.get(controller);
    if (found === undefined) byController.set(controller, (found = this.read(controller, handler)));
    return found;
  }

  private read(controller: Type, handler: Handler): readonly RouteThrottler[] {
    const [own, shared] = [overridesOf(controller, handler), overridesOf(controller)];
    const [skip, skipShared] = [skipsOf(controller, handler), skipsOf(controller)];
    return this.throttlers.map((throttler) => {
      const name = throttler.name!;
      const overrides = merged(ownValue(own, name), ownValue(shared, name));
      return { throttler, overrides, skipped: ownValue(skip, name) ?? ownValue(skipShared, name) ?? false };
    });
  }
}

/** A throttler may be called `constructor`, which each object inherits. */
function ownValue<T>(byName: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(byName, name) ? byName[name] : undefined;
}

/** Option by option, the method's before the class's. */
function merged(own: ThrottleOverride = {}, shared: ThrottleOverride = {}): ThrottleOverride {
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...shared, ...Object.fromEntries(given) };
}

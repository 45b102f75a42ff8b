import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import type { ApplicationConfig, DiscoveryService } from '@nestjs/core';
import { isInstanceOf, prototypeOf } from 'floodgate/internal';
import { isGuard, isGuardClass, RateLimitGuard } from './rate-limit.guard.js';

type ProviderWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** The guards that are bound for all routes, with `APP_GUARD` or `useGlobalGuards`. */
export function globalGuards(application: ApplicationConfig): RateLimitGuard[] {
  return application.getGlobalGuards().filter(isGuard);
}

/** The guards that the application provides, bound or not. */
export function providedGuards(discovery: DiscoveryService): RateLimitGuard[] {
  return discovery
    .getProviders()
    .filter((wrapper) => !isMadeAnew(wrapper))
    .map(({ instance }): unknown => instance)
    .filter(isGuard);
}

/** The guard to use: a subclass of the application, else the library's own guard. */
export function preferredGuard(guards: readonly RateLimitGuard[]): RateLimitGuard | undefined {
  return guards.find(({ constructor }) => constructor !== RateLimitGuard) ?? guards[0];
}

/**
 * Whether Nest creates a provider for each request or each consumer. The instance that Nest then shows has no injected
 * dependencies.
 */
export function isMadeAnew(wrapper: ProviderWrapper): boolean {
  return wrapper.isTransient || !wrapper.isDependencyTreeStatic();
}

/** Whether the guard guards a handler: without it `@RateLimit` and `defaults` limit nothing. */
export function isGuarded(application: ApplicationConfig, type: object, handler: object): boolean {
  return guardsOf(application, type, handler).some(isGuardClass);
}

/** Whether a guard of the application finds the identities of a handler's requests itself: it overrides `identityTag`. */
export function findsIdentities(application: ApplicationConfig, type: object, handler: object): boolean {
  const own = RateLimitGuard.prototype['identityTag'];
  return guardsOf(application, type, handler).some((guard) => {
    const prototype: unknown = typeof guard === 'function' ? prototypeOf(guard) : guard;
    return isInstanceOf(prototype, RateLimitGuard) && prototype['identityTag'] !== own;
  });
}

/** The guards of `@UseGuards` on a class and its method, as instances or classes. */
export function boundGuards(type: object, handler: object): unknown[] {
  return [type, handler].flatMap((one) => (Reflect.getMetadata(GUARDS_METADATA, one) as unknown[]) ?? []);
}

/** The guards before a handler, as instances or classes. */
function guardsOf(application: ApplicationConfig, type: object, handler: object): unknown[] {
  const global = application.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown);
  return [...application.getGlobalGuards(), ...global, ...boundGuards(type, handler)];
}

import type { PolicySource } from '../types.js';

/** All decorators use one key, so that a class that is derived from a decorated one replaces all that its base says. */
export const RATE_LIMIT = 'nestjs-floodgate:rate-limit';

/** The metadata of the decorators on one class or method. */
export interface Decoration {
  /** The policies of `@RateLimit`. */
  readonly policies?: readonly PolicySource[];
  /** Whether the module's defaults stay beside them; undefined where `@RateLimit` does not say. */
  readonly defaults?: KeptDefaults;
  /** What `@SkipRateLimit` leaves out. */
  readonly skips?: 'all' | readonly string[];
}

/** See `RoutePolicyOptions`. */
export type KeptDefaults = 'keep' | 'replace';

/**
 * Defines metadata on a class or a method. On a method it stands under its name, too: a decorator above, such as `@Transactional()`, may
 * put another function into its place.
 */
export function defineMetadata(
  key: string,
  value: object,
  target: object,
  property?: string | symbol,
  descriptor?: PropertyDescriptor,
): void {
  Reflect.defineMetadata(key, value, descriptor === undefined ? target : (descriptor.value as object));
  if (property !== undefined) Reflect.defineMetadata(key, value, target, property);
}

/** The metadata that stands on a class or a method itself. */
export function ownMetadata(
  key: string,
  target: object,
  property?: string | symbol,
  descriptor?: PropertyDescriptor,
): unknown {
  if (property === undefined) return Reflect.getOwnMetadata(key, target);
  return Reflect.getOwnMetadata(key, descriptor!.value as object) ?? Reflect.getOwnMetadata(key, target, property);
}

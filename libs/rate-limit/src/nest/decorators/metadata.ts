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

/** The metadata of the decorators on a class or a method; undefined without one. */
export function decorationOf(place: object): Decoration | undefined {
  return Reflect.getMetadata(RATE_LIMIT, place) as Decoration | undefined;
}

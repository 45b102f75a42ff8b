import { RateLimitConfigError } from 'floodgate';
import { shown } from 'floodgate/internal';

/** @throws {RateLimitConfigError} for options that are no object, such as the array that @nestjs/throttler takes */
export function checkShape(options: unknown): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return;
  const throttlers = '; the array of throttlers is for ThrottlerModule.forRoot of nestjs-floodgate/throttler';
  throw new RateLimitConfigError(
    'RateLimitModule',
    `options must be an object such as { redis, defaults: [...] }, got ${shown(options)}${Array.isArray(options) ? throttlers : ''}`,
  );
}

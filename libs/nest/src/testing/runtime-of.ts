import { RateLimitConfigError } from 'floodgate';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

/** What the kit uses of a Nest application or testing module. */
export interface ApplicationLike {
  get(token: unknown, options: { readonly strict: false }): unknown;
}

/**
 * The limiter of an application.
 *
 * @param place how the error message begins
 * @throws {RateLimitConfigError} when the application has none
 */
export function runtimeOf(place: string, app: ApplicationLike): RateLimitRuntime {
  if (typeof app?.get !== 'function') {
    throw new RateLimitConfigError(
      place,
      'takes a Nest application, as NestFactory.create or createNestApplication returns it',
    );
  }
  try {
    return app.get(RateLimitRuntime, { strict: false }) as RateLimitRuntime;
  } catch (error) {
    throw new RateLimitConfigError(
      place,
      `the application has no RateLimitModule. If it imports one, two copies of nestjs-floodgate are loaded, one with ` +
        `import and one with require: load the module and the kit in the same way`,
      'FG_INVALID_OPTION',
      { cause: error },
    );
  }
}
